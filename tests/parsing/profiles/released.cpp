// How llama.cpp reads each text that a model wrote for a chat template: the message as JSON, null where it refuses it.
// The first line has the template, messages and tools of the request, which is made ready as its server does.
// A list of pieces is read as they come, as its server does: the message that a client puts together, up to an error.
#include "chat.h"
#include <iostream>

static common_chat_msg streamed(const common_json & pieces, const common_chat_parser_params & parser) {
    common_chat_msg given, before;
    given.role = "assistant";
    std::string text;
    for (size_t at = 0; at <= pieces.size(); at++) {
        const bool is_partial = at < pieces.size();
        text += is_partial ? pieces.at(at).get<std::string>() : "";
        try {
            const auto now = common_chat_parse(text, is_partial, parser);
            for (const auto & diff : common_chat_msg_diff::compute_diffs(before, now.empty() ? before : now)) {
                if (diff.tool_call_index != std::string::npos) {
                    given.tool_calls.resize(std::max(given.tool_calls.size(), diff.tool_call_index + 1));
                    given.tool_calls[diff.tool_call_index].name += diff.tool_call_delta.name;
                    given.tool_calls[diff.tool_call_index].arguments += diff.tool_call_delta.arguments;
                }
            }
            before = now.empty() ? before : now;
        } catch (const std::exception & error) {
            if (given.tool_calls.empty()) {
                throw;
            }
            return given;
        }
    }
    return given;
}

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
            const auto text = common_json::parse(line);
            const auto message = text.is_array() ? streamed(text, parser)
                                                 : common_chat_parse(text.get<std::string>(), false, parser);
            std::cout << message.to_json_oaicompat().dump() << "\n";
        } catch (const std::exception & error) {
            std::cout << "null\n";
        }
    }
}
