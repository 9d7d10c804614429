//! The paths that the page asks for, and the answer to each.

use loadhook_profile::format::live_page;
use loadhook_settings::control::Request;
use serde_json::json;

use super::http::Reply;
use super::program::{Program, Said};
use super::server::Asked;

/// Answers a request of the page.
pub(super) fn answer(program: &Program, pid: u32, asked: &Asked<'_>) -> Reply {
    let (path, query) = asked.target.split_once('?').unwrap_or((asked.target, ""));
    match (asked.method, path) {
        ("GET", "") => page(program),
        ("GET", "profile") => profile(program, query),
        ("GET", "snapshot.pb.gz") => snapshot(program, pid),
        ("POST", "order") => said(order(program, asked.body)),
        ("POST", "attach") => said(program.attach()),
        (_, "" | "profile" | "snapshot.pb.gz" | "order" | "attach") => Reply::error(
            "405 Method Not Allowed",
            "this address takes another HTTP method",
        ),
        _ => Reply::error("404 Not Found", "there is no such page"),
    }
}

fn page(program: &Program) -> Reply {
    let (state, newest) = program.newest();
    let Some(newest) = newest else {
        return no_profile(&state);
    };
    let mut page = Vec::new();
    match live_page(&newest.data, &state, &mut page) {
        Ok(()) => Reply::html(page),
        Err(error) => Reply::error("500 Internal Server Error", &error.to_string()),
    }
}

/// Answers with the state that the page shows. Adds the newest profile, unless `after` in the query is this profile's
/// number: the page has the profile already then.
fn profile(program: &Program, query: &str) -> Reply {
    let after = query
        .strip_prefix("after=")
        .and_then(|number| number.parse().ok());
    let (mut state, newest) = program.newest();
    if let Some(newest) = newest.filter(|newest| Some(newest.number) != after) {
        state["measures"] = newest.data.clone();
    }
    Reply::json(&state)
}

fn snapshot(program: &Program, pid: u32) -> Reply {
    match program.newest() {
        (_, Some(newest)) => Reply::file(format!("loadhook-{pid}.pb.gz"), newest.bytes.clone()),
        (state, None) => no_profile(&state),
    }
}

fn no_profile(state: &serde_json::Value) -> Reply {
    let why = state["problem"].as_str().unwrap_or("the agent is gone");
    Reply::error("503 Service Unavailable", &format!("no profile yet: {why}"))
}

/// Gives an order of the page to the agent. Orders that the page never gives are refused, because some of them write
/// files.
fn order(program: &Program, body: &[u8]) -> Said {
    match std::str::from_utf8(body).unwrap_or_default().parse() {
        Ok(
            order @ (Request::Include(_)
            | Request::Exclude(_)
            | Request::Pause
            | Request::Resume
            | Request::Detach),
        ) => program.order(&order),
        Ok(_) => Said::refused("this page gives no such order; use loadhook ctl".to_owned()),
        Err(error) => Said::refused(error.to_string()),
    }
}

fn said(said: Said) -> Reply {
    Reply::json(&json!({"said": said.text, "isRefused": said.is_refused}))
}
