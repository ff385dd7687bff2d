// How llama.cpp reads each text that a model wrote for a chat template: the message as JSON, null where it refuses it.
// The first line has the template, messages and tools of the request, which is made ready as its server does.
#include "chat.h"
#include <iostream>

int main() {
    std::string line;
    std::getline(std::cin, line);
    const auto asked = common_json::parse(line);
    const auto templates = common_chat_templates_init(nullptr, asked.at("template").get<std::string>());
    common_chat_templates_inputs inputs;
    inputs.messages = common_chat_msgs_parse_oaicompat(asked.at("messages"));
    inputs.tools = common_chat_tools_parse_oaicompat(asked.at("tools"));
    inputs.parallel_tool_calls = common_chat_templates_get_caps(templates.get()).at("supports_parallel_tool_calls");
    inputs.reasoning_format = COMMON_REASONING_FORMAT_AUTO;
    const auto made = common_chat_templates_apply(templates.get(), inputs);
    common_chat_parser_params parser(made);
    parser.reasoning_format = inputs.reasoning_format;
    parser.parser.load(made.parser);
    while (std::getline(std::cin, line)) {
        try {
            const auto text = common_json::parse(line).get<std::string>();
            std::cout << common_chat_parse(text, false, parser).to_json_oaicompat().dump() << "\n";
        } catch (const std::exception & error) {
            std::cout << "null\n";
        }
    }
}
