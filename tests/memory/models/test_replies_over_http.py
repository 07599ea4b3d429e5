"""Reply quality of a configured model, asked as any OpenAI-compatible server is: with memory and without."""

from sessions.reply_bench import reply_figures
from tests.sessions.test_reply_bench import QUESTIONS, load


def test_a_configured_model_is_asked_over_http_and_its_own_replies_are_judged(monkeypatch, server):
    """It tells the newest budget that it can see: in a new conversation that takes memory."""
    server.answers(lambda body: "8,000 euros." if "8,000" in str(body["messages"]) else "I cannot tell.")
    monkeypatch.setenv("OPENAI_API_BASE", server.options["api_base"])
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    found = reply_figures("openai/local", load=load, questions=QUESTIONS[1:2])
    assert (found["llm"], {body["model"] for body in server.asked}) == ("openai/local", {"local"})
    assert found["apart"] == {"with": 1.0, "without": 0.0, "n": 1}
