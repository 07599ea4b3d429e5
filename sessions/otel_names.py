"""The names that traces use for conversations with models: OpenTelemetry's and OpenInference's, old and new, and ours.

Only names, no reading: spans.py and span_messages.py read by them, otlp_export.py and memory_spans.py write by them.
Sources: OpenTelemetry semantic conventions for generative AI (status Development: they still move, so the older
spellings stay readable), OpenInference semantic conventions, OpenLLMetry.
"""

from __future__ import annotations

# ── which conversation, whose: the first that is there counts ─────────────────────────────────────────

CONVERSATION = "gen_ai.conversation.id"
CONVERSATIONS = (
    CONVERSATION,
    "session.id",  # OpenInference
    "langfuse.session.id",
    "traceloop.association.properties.session_id",  # OpenLLMetry
    "traceloop.association.properties.thread_id",
)
USER = "user.id"
USERS = (USER, "enduser.id", "langfuse.user.id", "traceloop.association.properties.user_id")
SERVICE = "service.name"  # of the resource

# ── what a span is ────────────────────────────────────────────────────────────────────────────────────

OPERATION = "gen_ai.operation.name"
CHAT, EXECUTE_TOOL, INVOKE_AGENT = "chat", "execute_tool", "invoke_agent"
MODEL_OPERATIONS = (CHAT, "text_completion", "generate_content", "completion")
AGENT_OPERATIONS = (INVOKE_AGENT, "create_agent", "invoke_workflow")
KINDS = ("openinference.span.kind", "traceloop.span.kind", "llm.request.type")
MODEL_KINDS = ("llm", "chat", "completion")
AGENT_KINDS = ("agent", "chain", "workflow", "task")
TOOL_KINDS = ("tool",)

# Memory, as the GenAI conventions name it; what a window does (eviction, bookmarks) has no name there.
CREATE_MEMORY, SEARCH_MEMORY, UPDATE_MEMORY = "create_memory", "search_memory", "update_memory"
UPSERT_MEMORY, DELETE_MEMORY = "upsert_memory", "delete_memory"
MEMORY_OPERATIONS = (CREATE_MEMORY, SEARCH_MEMORY, UPDATE_MEMORY, UPSERT_MEMORY, DELETE_MEMORY)
MEMORY_STORE = "gen_ai.memory.store.id"
MEMORY_RECORD = "gen_ai.memory.record.id"
MEMORY_COUNT = "gen_ai.memory.record.count"
MEMORY_QUERY = "gen_ai.memory.query.text"
MEMORY_RECORDS = "gen_ai.memory.records"

# ── what was said: GenAI, messages as JSON in an attribute of the span or of one event ────────────────

INPUT_MESSAGES, OUTPUT_MESSAGES = "gen_ai.input.messages", "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
DETAILS_EVENT = "gen_ai.client.inference.operation.details"

# GenAI before 2025: one event a message (`gen_ai.user.message`), or one for all.
MESSAGE_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
CHOICE_EVENT = "gen_ai.choice"
PROMPT_EVENT, COMPLETION_EVENT = "gen_ai.content.prompt", "gen_ai.content.completion"
PROMPT, COMPLETION = "gen_ai.prompt", "gen_ai.completion"  # whole, or as gen_ai.prompt.0.content (OpenLLMetry)

# OpenInference: `llm.input_messages.0.message.content`, and the plain value of any span.
INDEXED_INPUT, INDEXED_OUTPUT = "llm.input_messages", "llm.output_messages"
INPUT_VALUE, OUTPUT_VALUE = "input.value", "output.value"
ENTITY_INPUT, ENTITY_OUTPUT = "traceloop.entity.input", "traceloop.entity.output"
MESSAGE, CONTENTS, MESSAGE_CONTENT = "message", "contents", "message_content"
TOOL_CALLS, TOOL_CALL = "tool_calls", "tool_call"

# ── tools ─────────────────────────────────────────────────────────────────────────────────────────────

TOOL_NAME = "gen_ai.tool.name"
TOOL_CALL_ID, TOOL_ARGUMENTS, TOOL_RESULT = (
    "gen_ai.tool.call.id", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
)  # fmt: skip
TOOL_CALL_IDS = (TOOL_CALL_ID, "tool_call.id", "tool.call.id", "tool.id")
TOOL_RESULTS = (TOOL_RESULT, OUTPUT_VALUE, ENTITY_OUTPUT)

# ── what it cost, and what went wrong ─────────────────────────────────────────────────────────────────

REQUEST_MODEL, RESPONSE_MODEL = "gen_ai.request.model", "gen_ai.response.model"
MODELS = (RESPONSE_MODEL, REQUEST_MODEL, "llm.model_name")
PROVIDER = "gen_ai.provider.name"
PROVIDERS = (PROVIDER, "gen_ai.system", "llm.provider", "llm.system")
INPUT_TOKENS, OUTPUT_TOKENS = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
PROMPT_TOKENS = (INPUT_TOKENS, "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "llm.usage.prompt_tokens")
COMPLETION_TOKENS = (
    OUTPUT_TOKENS, "gen_ai.usage.completion_tokens", "llm.token_count.completion", "llm.usage.completion_tokens",
)  # fmt: skip
COSTS = ("gen_ai.usage.cost", "llm.cost.total", "gen_ai.cost.total_cost")  # US dollars
FINISH = "gen_ai.response.finish_reasons"
FIRST_CHUNK_S = "gen_ai.response.time_to_first_chunk"  # seconds
FIRST_CHUNK_EVENTS = ("First Token Stream Event", "gen_ai.content.completion.chunk")  # OpenInference, OpenLLMetry
ERROR = "error.type"
EXCEPTION_EVENT, EXCEPTION_TYPE, EXCEPTION_MESSAGE = "exception", "exception.type", "exception.message"

# ── ours, where no convention has a name ──────────────────────────────────────────────────────────────

OURS = "memory_workbench"  # beside a message: its turn, time, labels
TITLE, LANGUAGE, QUESTIONS = "memory_workbench.title", "memory_workbench.language", "memory_workbench.questions"
PAGE, STEP, REASON, TOKENS = (
    "memory_workbench.page", "memory_workbench.step", "memory_workbench.reason", "memory_workbench.tokens",
)  # fmt: skip
EVICT = "evict_memory"  # a page leaves the window; the conventions name nothing like it

# What is understood without being a message: not counted as foreign.
READ_WITH = frozenset(
    {
        *CONVERSATIONS, *USERS, OPERATION, *KINDS, *TOOL_CALL_IDS, *TOOL_RESULTS, TOOL_NAME, TOOL_ARGUMENTS, *MODELS,
        *PROVIDERS, *PROMPT_TOKENS, *COMPLETION_TOKENS, *COSTS, FINISH, FIRST_CHUNK_S, ERROR, INPUT_MESSAGES,
        OUTPUT_MESSAGES, SYSTEM_INSTRUCTIONS, PROMPT, COMPLETION, INPUT_VALUE, OUTPUT_VALUE, ENTITY_INPUT,
        ENTITY_OUTPUT, TITLE, LANGUAGE, QUESTIONS, STEP, "input.mime_type", "output.mime_type",
        "llm.token_count.total", "gen_ai.output.type",
    }
)  # fmt: skip
READ_BELOW = (f"{INDEXED_INPUT}.", f"{INDEXED_OUTPUT}.", f"{PROMPT}.", f"{COMPLETION}.")
