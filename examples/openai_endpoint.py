"""An OpenAI-compatible endpoint whose conversations have a memory, for any client that can be pointed at an address.

    pip install fastapi
    python examples/openai_endpoint.py [MODEL [STORE]]
    curl localhost:8765/v1/chat/completions -d '{"messages": [{"role": "user", "content": "Hi"}], "user": "ana"}'

A client names its user by `user` and its conversation by `metadata` or the header X-Conversation-Id; one that names
none is known by its first message. Whose memory it is, an app of your own takes from its login, not from the request:
change `whose`. The model is the server's, and so are its keys: what a client sends beyond TAKEN is left out.
In an app that there is already: `api.include_router(memory_of(engine, "gpt-4o-mini"))`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import openai
import uvicorn
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from memory import DropIn

TAKEN = (
    "messages", "stream", "stream_options", "tools", "tool_choice", "parallel_tool_calls", "response_format", "stop",
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "presence_penalty", "frequency_penalty", "seed",
    "n", "logprobs", "top_logprobs", "functions", "function_call", "modalities", "audio", "reasoning_effort",
)  # fmt: skip


def app(engine: DropIn, model: str) -> FastAPI:
    api = FastAPI(title="A model with a memory")
    api.include_router(memory_of(engine, model))
    return api


def memory_of(engine: DropIn, model: str) -> APIRouter:
    """Serves `/v1/chat/completions` and `/v1/models`."""
    router = APIRouter(prefix="/v1")

    @router.post("/chat/completions", response_model=None)
    async def chat(request: Request) -> Response:
        try:
            body = await request.json()
        except ValueError:
            return refused(400, "the body is no JSON")
        if not isinstance(body, dict):
            return refused(400, "the body is no JSON object")
        given = {name: body[name] for name in TAKEN if name in body}
        try:
            answer = await engine.acompletion(model, given.pop("messages", []), metadata=whose(request, body), **given)
        except openai.APIError as error:  # of which all of LiteLLM's are
            return refused(getattr(error, "status_code", None) or 500, error.message)
        if given.get("stream"):
            return StreamingResponse(events(answer), media_type="text/event-stream")
        return Response(answer.model_dump_json(), media_type="application/json")

    @router.get("/models")
    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [{"id": model, "object": "model", "owned_by": "memory"}]}

    return router


def whose(request: Request, body: dict[str, Any]) -> dict[str, str]:
    """Of whom, and in which conversation."""
    named = body.get("metadata") if isinstance(body.get("metadata"), dict) else {}
    found = {
        "user_id": named.get("user_id") or body.get("user"),
        "conversation_id": named.get("conversation_id") or request.headers.get("x-conversation-id"),
    }
    return {name: str(value) for name, value in found.items() if value}


async def events(answer: Any) -> AsyncIterator[str]:
    """The chunks as server-sent events; a client that leaves stops the model."""
    try:
        async for chunk in answer:
            yield f"data: {chunk.model_dump_json()}\n\n"
        yield "data: [DONE]\n\n"
    except openai.APIError as error:
        yield f"data: {json.dumps({'error': told(error.message)})}\n\n"
    finally:
        await answer.aclose()


def told(message: str) -> dict[str, str]:
    return {"message": message, "type": "error"}


def refused(status: int, message: str) -> Response:
    return JSONResponse({"error": told(message)}, status_code=status)


if __name__ == "__main__":
    llm, store = [*sys.argv[1:], *("workbench/offline", "store")[len(sys.argv[1:]) :]][:2]
    with DropIn(store, user="me", window_tokens=8_000) as engine:
        uvicorn.run(app(engine, llm), host="127.0.0.1", port=8765)
