//! The state of the screen, and how keys change it.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::model::Model;
use super::rows::{Allocations, Methods, Neighbours, Rows, SELF, Threads, Tree, order};

/// A table that has a key of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Methods,
    Threads,
    Tree,
    Allocations,
}

impl View {
    pub(super) const ALL: [View; 4] = [View::Methods, View::Threads, View::Tree, View::Allocations];

    pub(super) fn title(self) -> &'static str {
        match self {
            View::Methods => "Methods",
            View::Threads => "Threads",
            View::Tree => "Tree",
            View::Allocations => "Allocations",
        }
    }
}

/// The action of a key that changes more than the state of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    /// Stop the process, as Ctrl-Z does.
    Suspend,
    /// Begin or end a pause. During a pause, the figures on the screen do not change.
    Pause,
    Snapshot,
    /// Include or exclude this method of the picture.
    Include(u32),
    Exclude(u32),
}

/// The order of a table.
#[derive(Clone, Copy)]
struct Sorting {
    column: usize,
    is_reversed: bool,
}

/// The state of the screen.
pub(super) struct Session {
    pub(super) view: View,
    /// The methods whose callers and callees were asked for, by name. The last one is shown; Esc removes it.
    pub(super) visited: Vec<String>,
    pub(super) filter: String,
    /// True while keys go to the filter.
    pub(super) is_typing: bool,
    pub(super) is_paused: bool,
    pub(super) shows_help: bool,
    sorting: [Sorting; View::ALL.len()],
    /// The rows that the filter leaves, in the order of the screen.
    pub(super) order: Vec<usize>,
    /// The place of the cursor in `order`.
    pub(super) cursor: usize,
    /// The place in `order` of the first row on the screen.
    pub(super) top: usize,
    /// The label of the row that the cursor follows; `None` while the cursor is at the first row.
    followed: Option<String>,
    /// The number of rows on the screen.
    pub(super) height: usize,
}

impl Session {
    pub(super) fn new() -> Session {
        let mut sorting = [Sorting {
            column: 0,
            is_reversed: false,
        }; View::ALL.len()];
        sorting[View::Methods as usize].column = SELF;
        Session {
            view: View::Methods,
            visited: Vec::new(),
            filter: String::new(),
            is_typing: false,
            is_paused: false,
            shows_help: false,
            sorting,
            order: Vec::new(),
            cursor: 0,
            top: 0,
            followed: None,
            height: 1,
        }
    }

    /// Returns the table that is shown.
    pub(super) fn rows<'m>(&self, model: &'m Model) -> Box<dyn Rows + 'm> {
        if let Some(name) = self.visited.last() {
            return Box::new(Neighbours::new(model, name));
        }
        match self.view {
            View::Methods => Box::new(Methods(model)),
            View::Threads => Box::new(Threads(model)),
            View::Tree => Box::new(Tree(model)),
            View::Allocations => Box::new(Allocations(model)),
        }
    }

    /// Returns the column by which the table is sorted, and true if the order is reversed.
    pub(super) fn sorted_by(&self) -> (usize, bool) {
        let sorting = self.sorting[self.view as usize];
        (sorting.column, sorting.is_reversed)
    }

    /// Puts the rows in order after a change of the figures, the table or the filter.
    pub(super) fn arrange(&mut self, model: &Model) {
        let rows = self.rows(model);
        let (column, is_reversed) = self.sorted_by();
        self.order = order(&*rows, &self.filter, column, is_reversed);
        if let Some(label) = self.followed.as_deref().filter(|_| rows.can_sort()) {
            let found = self.order.iter().position(|row| rows.label(*row) == label);
            self.cursor = found.unwrap_or(self.cursor);
        }
        self.keep_in_sight();
    }

    /// Moves a cursor that is behind the last row to this row, and scrolls until the cursor's row is on the screen.
    pub(super) fn keep_in_sight(&mut self) {
        self.cursor = self.cursor.min(self.order.len().saturating_sub(1));
        let height = self.height.max(1);
        let last = self.order.len().saturating_sub(height);
        self.top = self
            .top
            .clamp(self.cursor.saturating_sub(height - 1), self.cursor)
            .min(last.max(self.cursor.saturating_sub(height - 1)));
    }

    /// Changes the state of the screen for a key. Returns an action if the key changes more than
    /// that.
    pub(super) fn key(&mut self, key: KeyEvent, model: &Model) -> Option<Action> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Some(Action::Quit),
                KeyCode::Char('z') => Some(Action::Suspend),
                _ => None,
            };
        }
        if self.shows_help {
            self.shows_help = false;
            return None;
        }
        if self.is_typing {
            self.type_filter(key.code);
            self.arrange(model);
            return None;
        }
        let action = self.command(key.code, model);
        self.arrange(model);
        action
    }

    fn type_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Char(char) => self.filter.push(char),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Enter | KeyCode::Down | KeyCode::Up => self.is_typing = false,
            KeyCode::Esc => {
                self.filter.clear();
                self.is_typing = false;
            }
            _ => return,
        }
        self.rewind();
    }

    fn command(&mut self, key: KeyCode, model: &Model) -> Option<Action> {
        match key {
            KeyCode::Char('q') => return Some(Action::Quit),
            KeyCode::Char('p') => {
                self.is_paused = !self.is_paused;
                return Some(Action::Pause);
            }
            KeyCode::Char('s') => return Some(Action::Snapshot),
            KeyCode::Char('+') => return self.method(model).map(Action::Include),
            KeyCode::Char('-') => return self.method(model).map(Action::Exclude),
            KeyCode::Char('?' | 'h') => self.shows_help = true,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Char('<' | ',') | KeyCode::Left => self.sort(model, -1),
            KeyCode::Char('>' | '.') | KeyCode::Right => self.sort(model, 1),
            KeyCode::Char('r') => {
                let sorting = &mut self.sorting[self.view as usize];
                sorting.is_reversed = !sorting.is_reversed;
                self.rewind();
            }
            KeyCode::Char(digit @ '1'..='4') => {
                let at = digit as usize - '1' as usize;
                self.show(View::ALL[at]);
            }
            KeyCode::Tab => self.show(View::ALL[(self.view as usize + 1) % View::ALL.len()]),
            KeyCode::Enter => self.visit(model),
            KeyCode::Esc | KeyCode::Backspace => {
                if self.visited.pop().is_none() {
                    self.filter.clear();
                }
                self.rewind();
            }
            key => self.move_cursor(key, model),
        }
        None
    }

    fn move_cursor(&mut self, key: KeyCode, model: &Model) {
        let last = self.order.len().saturating_sub(1);
        self.cursor = match key {
            KeyCode::Up | KeyCode::Char('k') => self.cursor.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => (self.cursor + 1).min(last),
            KeyCode::PageUp => self.cursor.saturating_sub(self.height),
            KeyCode::PageDown => (self.cursor + self.height).min(last),
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => last,
            _ => return,
        };
        let rows = self.rows(model);
        // A cursor at the first row stays there and follows no row.
        let row = self.order.get(self.cursor).filter(|_| self.cursor > 0);
        self.followed = row.map(|row| rows.label(*row));
    }

    fn rewind(&mut self) {
        self.cursor = 0;
        self.top = 0;
        self.followed = None;
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.visited.clear();
        self.rewind();
    }

    /// Sorts by the column to the right (1) or to the left (-1), and goes round at the ends.
    fn sort(&mut self, model: &Model, step: isize) {
        let rows = self.rows(model);
        if !rows.can_sort() {
            return;
        }
        let columns = rows.columns().len() + 1;
        let sorting = &mut self.sorting[self.view as usize];
        sorting.column = (sorting.column + columns).wrapping_add_signed(step) % columns;
        sorting.is_reversed = false;
        self.rewind();
    }

    /// Shows the callers and callees of the method at the cursor.
    fn visit(&mut self, model: &Model) {
        let method = self.method(model);
        let name = method.and_then(|method| model.picture.names.get(method as usize));
        if let Some(name) = name {
            self.visited.push(name.clone());
            // The filter chose the method, and would hide its callers.
            self.filter.clear();
            self.rewind();
        }
    }

    fn method(&self, model: &Model) -> Option<u32> {
        let row = self.order.get(self.cursor)?;
        self.rows(model).method(*row)
    }
}

#[cfg(test)]
mod tests {
    use loadhook_profile::analysis::picture::{Calls, MethodFigures, Picture};

    use super::*;

    /// Makes a model of methods with these self times. The first method calls all others.
    fn model(methods: &[(&str, f64)]) -> Model {
        let figures = |(method, (_, self_ns)): (u32, &(&str, f64))| MethodFigures {
            method,
            calls: None,
            calls_are_least: false,
            is_only_counted: false,
            self_ns: Some(*self_ns),
            total_ns: Some(*self_ns),
            mean_ns: None,
            p99_ns: None,
            p99_is_partial: false,
        };
        let call = |callee| Calls {
            caller: Some(0),
            callee,
            count: 1,
            total_ns: Some(1.0),
        };
        Model {
            picture: Picture {
                whole: 10.0,
                names: methods.iter().map(|(name, _)| (*name).to_owned()).collect(),
                methods: (0..).zip(methods).map(figures).collect(),
                calls: (1..methods.len() as u32).map(call).collect(),
                ..Picture::default()
            },
            ..Model::default()
        }
    }

    fn press(session: &mut Session, model: &Model, keys: &str) -> Option<Action> {
        let mut action = None;
        for char in keys.chars() {
            let code = match char {
                '\n' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                char => KeyCode::Char(char),
            };
            action = session.key(KeyEvent::from(code), model);
        }
        action
    }

    fn shown(session: &Session, model: &Model) -> Vec<String> {
        let rows = session.rows(model);
        let names = session.order.iter().map(|row| rows.name(*row).to_owned());
        names.collect()
    }

    #[test]
    fn rows_are_sorted_and_filtered() {
        let model = model(&[("a.Main", 1.0), ("b.Late", 3.0), ("c.MAIL", 2.0)]);
        let mut session = Session::new();
        session.arrange(&model);
        assert_eq!(shown(&session, &model), ["b.Late", "c.MAIL", "a.Main"]);
        press(&mut session, &model, "r");
        assert_eq!(shown(&session, &model), ["a.Main", "c.MAIL", "b.Late"]);
        press(&mut session, &model, "<<");
        assert_eq!(
            session.sorted_by().0,
            5,
            "the column of names is behind the last"
        );
        assert_eq!(shown(&session, &model), ["a.Main", "b.Late", "c.MAIL"]);
        press(&mut session, &model, "/mai");
        assert_eq!(shown(&session, &model), ["a.Main", "c.MAIL"]);
        press(&mut session, &model, "q");
        assert!(session.order.is_empty(), "q is part of the filter");
        press(&mut session, &model, "\u{1b}");
        assert_eq!(session.order.len(), 3);
        assert_eq!(press(&mut session, &model, "q"), Some(Action::Quit));
    }

    #[test]
    fn the_cursor_follows_a_method() {
        let mut session = Session::new();
        let before = model(&[("a", 3.0), ("b", 2.0), ("c", 1.0)]);
        session.arrange(&before);
        press(&mut session, &before, "j");
        assert_eq!(press(&mut session, &before, "+"), Some(Action::Include(1)));
        let after = model(&[("a", 3.0), ("b", 1.0), ("c", 2.0), ("d", 9.0)]);
        session.arrange(&after);
        assert_eq!(session.cursor, 3);
        assert_eq!(press(&mut session, &after, "-"), Some(Action::Exclude(1)));
        // At the top the cursor stays.
        press(&mut session, &after, "g");
        session.arrange(&before);
        assert_eq!(session.cursor, 0);
        session.arrange(&model(&[]));
        assert_eq!(press(&mut session, &model(&[]), "j+"), None);
    }

    #[test]
    fn a_method_has_callers_and_callees() {
        let model = model(&[("a", 3.0), ("b", 2.0), ("c", 1.0)]);
        let mut session = Session::new();
        session.arrange(&model);
        press(&mut session, &model, "\n");
        assert_eq!(shown(&session, &model), ["b", "c"]);
        press(&mut session, &model, "j\n");
        assert_eq!(session.visited, ["a", "c"]);
        assert_eq!(shown(&session, &model), ["a"]);
        press(&mut session, &model, "\u{1b}\u{1b}");
        assert!(session.visited.is_empty());
        press(&mut session, &model, "\n3");
        assert_eq!((session.view, session.visited.len()), (View::Tree, 0));
    }

    #[test]
    fn the_cursor_stays_on_the_screen() {
        let names: Vec<String> = (0..50).map(|at| format!("{at:02}")).collect();
        let methods: Vec<(&str, f64)> = names.iter().map(|name| (&**name, 1.0)).collect();
        let model = model(&methods);
        let mut session = Session::new();
        session.height = 10;
        session.arrange(&model);
        for (keys, cursor, top) in [
            ("G", 49, 40),
            ("k", 48, 40),
            ("g", 0, 0),
            ("jjjjjjjjjj", 10, 1),
        ] {
            press(&mut session, &model, keys);
            assert_eq!((session.cursor, session.top), (cursor, top), "{keys}");
        }
        session.height = 3;
        session.keep_in_sight();
        assert_eq!((session.cursor, session.top), (10, 8));
    }
}
