"""Rights: which one each route asks for, and what to say to who has it not."""

from __future__ import annotations

from webapp.store.accounts.accounts import ADMIN, INGEST, LABEL, READ

OWN = "own"
"""for whoever signed in to an account, and for no API token: a token must not make another"""
OPEN = "open"
"""for everybody, who signed in or not"""

ROUTES = {
    OPEN: """
        static login.form login.submit login.sign_out health.alive health.ready oidc.begin oidc.finish palette.keys
    """,
    READ: """
        api_reference.description_api api_reference.show compare.compare_api compare.index compare.show
        dumps.download dumps.index dumps.show jobs.show_api
        export_jobs.ask export_jobs.file export_jobs.file_api export_jobs.index export_jobs.list_api
        export_jobs.show export_jobs.show_api exports.index exports.labels_api exports.session_api
        failures.atom failures.index failures.old_index
        failures.show failures_api.detail_api failures_api.list_api failures_api.same_api
        growing.head guide.begin guide.end help.index help.picture help.show
        homes.ask homes.index homes.question homes.show_api
        labels.causes.index labels.index labels.lists.disagreements labels.lists.index labels.progress
        labels.name.ask labels.name.tell labels.turn.list_api labels.value
        machine_logs.index mapping_api.suggest mappings.index mappings.make metrics.show palette.found
        playground.case playground.index playground.markdown playground.raw playground.read
        profiles.index profiles.list_api profiles.responses profiles.show
        responses.index responses.list_api runs.show_api tasks.index tasks.show
        selection.ask selection.compare selection.download selection.dumps_api selection.export
        sessions.download_dump sessions.index sessions.list_api sessions.next_failure_api sessions.response
        sessions.show sessions.show_api
        turn_diff.show turns.case turns.download_decoded turns.download_raw turns.markdown turns.show turns.show_api
    """,
    LABEL: """
        export_jobs.cancel_api export_jobs.make export_jobs.make_api export_jobs.remove
        failure_actions.change labels.causes.change labels.check labels.draw
        labels.lists.settle labels.save labels.turn.put_api labels.turn.save
        labels.undo runs.cancel_api runs.make runs.make_api selection.label
        sessions.write_dump sessions.write_dump_api tasks.cancel views.remove views.save
    """,
    INGEST: """
        dumps.read_again dumps.upload dumps.upload_api guide.load_examples
        jobs.cancel_api jobs.choose_key machine_logs.add mapping_api.read mappings.delete
        mappings.save playground.save
        traces.export traces.logs traces.metrics
    """,
    ADMIN: """
        homes.change homes.forget homes.put_api homes.remember homes.undo
        selection.delete selection.undo
        accounts.index accounts.add accounts.change accounts.remove accounts.revoke audit.index
    """,
    OWN: """
        account.show account.set_password account.make_token account.revoke_token account.end_logins
    """,
}
WRITES_ALONE = frozenset(
    (
        *("dumps.upload_api", "export_jobs.make_api", "labels.turn.put_api", "runs.make_api"),
        *("traces.export", "traces.logs", "traces.metrics"),
    )
)
"""what answers with what was sent and no more; other routes of labels and dumps ask for the right to read too"""
RIGHT_OF = {endpoint: right for right, endpoints in ROUTES.items() for endpoint in endpoints.split()}
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OF_ACCOUNTS = ("account.", "accounts.", "audit.", "oidc.")
"""what there is on servers alone that ask for accounts"""


def needed(endpoint: str) -> tuple[str, ...]:
    """The rights that a route asks for."""
    right = RIGHT_OF.get(endpoint, "")
    return (right, READ) if right in (LABEL, INGEST) and endpoint not in WRITES_ALONE else (right,)
