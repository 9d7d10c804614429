//! Tests of pages that follow a program, in a real browser, without the program: a newer profile takes the place of the
//! shown one, and the reader's place stays.

mod common;

use loadhook_profile::Profile;
use loadhook_profile::format::{Options, live_page, page_data};
use loadhook_testkit::browser::run;
use serde_json::{Value, json};

fn state(number: u64, word: &str) -> Value {
    json!({"state": word, "number": number, "age_ms": 0, "watched": "include </script>, exclude none", "problem": null})
}

/// Returns the same program a little later. Threads and methods have other numbers, and one thread is new.
fn later(mut profile: Profile) -> Profile {
    let last = u32::try_from(profile.methods.len() - 1).expect("there are few methods");
    profile.methods.reverse();
    for thread in &mut profile.threads {
        for node in &mut thread.nodes {
            node.method = last - node.method;
            node.calls *= 2;
        }
    }
    let mut new = profile.threads[0].clone();
    new.name = "a new thread".into();
    profile.threads.push(new);
    profile.threads.reverse();
    profile
}

/// Evaluates a script that calls `later()` when it wants the newer profile.
fn shown(script: &str) -> String {
    let data = page_data(&common::small(), &Options::default());
    let mut page = Vec::new();
    live_page(&data, &state(1, "live"), &mut page).expect("writing to memory cannot fail");
    let page = String::from_utf8(page).expect("the text is UTF-8");
    let mut answer = state(2, "live");
    answer["measures"] = page_data(&later(common::small()), &Options::default());
    let answer = answer.to_string().replace('<', "\\u003c");
    run(
        &page,
        &format!(
            "const later = () => take({answer}); const text = (id) => document.getElementById(id).textContent; {script}"
        ),
    )
}

#[test]
fn the_readers_place_stays() {
    let script = r#"
        const named = (name) => [...graph.method.keys()].find((node) => !isThread(graph.method[node]) && methods.name[graph.method[node]].includes(name));
        const seen = [];
        const see = () => seen.push([data.threads.length, threadName(threadChosen), zoomed < 0 ? '' : fullName(graph.method[zoomed]),
            chosen < 0 ? '' : fullName(graph.method[chosen]), text('details-name'), text('found'), view, $('thread').selectedOptions[0].textContent].join(' | '));
        chooseThread(data.threads.findIndex(({ name }) => name === 'main'));
        choose(named('Sum.evaluate'));
        zoom(named('Server.handle'));
        $('search').value = 'cart';
        search('cart');
        see(); later(); see();
        show('methods');
        sortBy(columnOf('calls'));
        const sorted = document.querySelector('#columns [aria-sort]').textContent;
        later();
        seen.push(sorted === document.querySelector('#columns [aria-sort]').textContent);
        return seen.join('\n');
    "#;
    insta::assert_snapshot!(shown(script));
}

#[test]
fn the_call_tree_stays_unfolded() {
    let script = r#"
        const lines = () => [...document.querySelectorAll('#tree-rows tr')].map((row) =>
            `${'  '.repeat(row.level)}${row.lastChild.textContent}${row === document.activeElement ? ' (focus)' : ''}`).join('\n');
        chooseThread(data.threads.findIndex(({ name }) => name === 'main'));
        show('tree');
        const row = [...document.querySelectorAll('#tree-rows tr')].find((row) => row.textContent.includes('Expression'));
        unfold(row);
        fold(document.querySelectorAll('#tree-rows tr')[1]);
        const before = lines();
        unfold(document.querySelectorAll('#tree-rows tr')[1]);
        document.querySelectorAll('#tree-rows tr')[2].focus();
        const open = lines();
        later();
        return [before, open, lines() === open || lines()].join('\n\n');
    "#;
    insta::assert_snapshot!(shown(script));
}

#[test]
fn the_bar_tells_the_state() {
    let script = r#"
        const seen = [];
        const see = () => seen.push([text('live-state'), text('live-pause'), $('live-pause').disabled, text('live-stop'), $('live-stop').disabled,
            $('live-patterns').disabled, text('live-said')].join(' | '));
        see();
        for (const word of ['paused', 'left', 'ended', 'lost']) {
            take({ ...state, state: word, age_ms: 7000, problem: word === 'ended' ? 'process 7 has ended' : null });
            see();
        }
        seen.push(text('live-watched'));
        return seen.join('\n');
    "#;
    insta::assert_snapshot!(shown(script));
}
