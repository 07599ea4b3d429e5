"""Every error this package raises: each says what was wrong, with which value, and what would be right.

* EngineError
  x UnknownName            a strategy, setting or kind that is not registered
  x BadSetting             a setting outside its range
  x BadMessage             a message the engine cannot take
  x NotFound               a conversation, run, turn or page that does not exist
  x BudgetTooSmall         the fixed part of a prompt leaves no room for the message
  x RecallLoop             the model asked for pages again and again and never answered
  x StaleFact              a fact changed since whoever decides looked at it
  x UndoRefused            later changes build on the one to be undone
  x ConversationBusy       another step of this conversation is running
  x TokenizerMissing       the tokenizer's file is not where litellm ships it
  * StoreError
    * StaleAppend          the log moved on since the writer last read it
      x WentOn             so did the conversation that an application's history was compared with: nothing is written
    x StoreTooNew          written by a newer version of this program
    x StoreDamaged         the file is no store, or its contents contradict each other
    x StoreReadOnly        the folder or file cannot be written
    x StoreFull            the disk is full
    x StoreOnNetwork       a network file system, where SQLite's locks do not hold
    x StoreLocked          another process held the write lock for too long
    x OtherEmbedder        the store's vectors were made by another embedder
    x BadQuery             an analytical query that DuckDB refuses
  * ModelError
    x UnknownModel         no provider by this name
    x ModelUnreachable     nobody answers at the address
    x ModelRefused         wrong key, no key, or no permission
    x ToolsRefused         the model or its server takes no tools
    * ModelOverloaded      too many calls now; `retry_after_s` may say when to come again
      x ModelQuota         the quota is used up; waiting does not help
    x ModelTimeout         no answer in time
    x ContextOverflow      the prompt is longer than the model takes; by how much, if it says so
    x ModelAnswerEmpty     an answer with neither text nor tool calls
    x ModelCut             the stream broke off; `partial` holds what came
  * RecordingError         a file of recorded conversations that cannot be read
  x CaseError              a case file that is damaged, of a newer version, or not to be trusted
"""

from __future__ import annotations

from collections.abc import Iterable


class EngineError(Exception):
    """Base of all."""


class UnknownName(EngineError, LookupError):
    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        super().__init__(f"no {kind} named {name!r}; choose one of: {', '.join(sorted(known))}")


class BadSetting(EngineError, ValueError): ...


class BadMessage(EngineError, ValueError): ...


class NotFound(EngineError, LookupError): ...


class BudgetTooSmall(EngineError): ...


class RecallLoop(EngineError): ...


class StaleFact(EngineError): ...


class UndoRefused(EngineError): ...


class ConversationBusy(EngineError): ...


class TokenizerMissing(EngineError): ...


class StoreError(EngineError): ...


class StoreClosed(StoreError): ...


class StaleAppend(StoreError): ...


class WentOn(StaleAppend): ...


class StoreTooNew(StoreError): ...


class StoreDamaged(StoreError): ...


class StoreReadOnly(StoreError): ...


class StoreFull(StoreError): ...


class StoreOnNetwork(StoreError): ...


class StoreLocked(StoreError): ...


class OtherEmbedder(StoreError): ...


class BadQuery(StoreError): ...


class ModelError(EngineError):
    retry_after_s: float | None = None  # what the provider asks to wait; None: it says nothing
    theirs: str = ""  # LiteLLM's class of it
    status: int = 0  # of HTTP; 0: there was none


class UnknownModel(ModelError): ...


class ModelUnreachable(ModelError): ...


class ModelRefused(ModelError): ...


class ToolsRefused(ModelError): ...


class ModelOverloaded(ModelError): ...


class ModelQuota(ModelOverloaded): ...


class ModelTimeout(ModelError): ...


class ContextOverflow(ModelError):
    prompt_tokens: int = 0  # as the provider counts; 0: it does not say
    limit_tokens: int = 0


class ModelAnswerEmpty(ModelError): ...


class ModelCut(ModelError):
    def __init__(self, message: str, partial: str = "") -> None:
        super().__init__(message)
        self.partial = partial


class RecordingError(EngineError): ...


class CaseError(EngineError): ...
