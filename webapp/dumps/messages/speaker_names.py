"""How a user and a model are called where texts say who speaks."""

from __future__ import annotations

import re
from collections import Counter

USER = (
    r"User|USER|Human|You|You said|Me|Prompt|User Input|用户|用戶|人类|ユーザー|사용자|Benutzer|Nutzer|Utilisateur"
    r"|Usuario|Usuário|Utente|Gebruiker|Пользователь|Użytkownik|나|你|Siz|Вы|Ви|Ты|Você|Vous|Kullanıcı|المستخدم|उपयोगकर्ता|Bạn|Customer"
    r"|💬|🗨|👤|🧑(?:\u200d💻)?|👨\u200d💻|👩\u200d💻"
    r"|🙋"
)
MODEL = (
    r"Assistant|AI|Bot|Agent|Model|Response|ChatGPT(?: said)?|Claude|Cursor|Gemini|Copilot|GitHub Copilot|Grok|DeepSeek"
    r"|Amazon Q|Claude Code|Gemini CLI|Codex|Windsurf|Cascade|Junie|Kiro|Perplexity|Mistral|Qwen|Kimi|Cody|Llama|MODEL"
    r"|ASSISTANT|Planner Response|GPT-[\w.\-]{1,20}(?: mini| nano)?|助手|AI助手|模型|アシスタント|어시스턴트|Assistent"
    r"|Asistente|Assistente|Ассистент|Asystent|Asistan|المساعد|सहायक|🤖|Antigravity|[A-Z]\w{0,20}(?:Bot|AI|GPT)"
)
KINDS = (
    {"System": "system", "Reasoning": "thinking", "Info": "event"}
    | dict.fromkeys(("Instruction", "Input", "Question"), "user")
    | dict.fromkeys(("Tool", "Function", "Function Response", "Ipython", "Observation"), "tool")
)


def turns_of_names(names: list[str], least: int) -> list[str]:
    """The two who speak in turn, the first of whom asks, by a known name; none where a third is named as often."""
    turns = [name for name in names if name in names[:2]]
    is_turned = len(turns) >= least and turns == (turns[:2] * len(turns))[: len(turns)]
    is_alone = all(4 * count <= len(turns) for name, count in Counter(names).items() if name not in turns)
    return turns[:2] if is_turned and is_alone and re.fullmatch(USER, turns[0], re.I) else []
