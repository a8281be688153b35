//! Compiling modules to a schema, and compile errors with their location.

use allod_face_restconf::yang::{NodeKind, Schema};

use crate::pure::fixture::{SCHEMA, id};

#[test]
fn a_schema_has_the_nodes_of_its_modules() {
    let item = SCHEMA.node(id("/toy:top/item"));
    assert_eq!(item.kind, NodeKind::List);
    assert_eq!(item.keys, [id("/toy:top/item/name")]);
    assert!(item.config && !item.user_ordered);
    assert!(SCHEMA.node(id("/toy:top/pair")).user_ordered);
    assert_eq!(SCHEMA.node(id("/toy:top/pair")).keys.len(), 2);
    assert_eq!(SCHEMA.node(id("/toy:top/item/number")).max_elements, Some(3));
    assert!(!SCHEMA.node(id("/toy:top/item/state/used")).config, "config is inherited");
    assert_eq!(
        SCHEMA.node(id("/toy:top/item/present")).kind,
        NodeKind::Container { presence: true }
    );
    assert_eq!(SCHEMA.node(id("/toy:happened")).kind, NodeKind::Notification);
    assert_eq!(SCHEMA.node(id("/toy:top/item/reset")).kind, NodeKind::Action);
}

#[test]
fn groupings_are_refined_and_augmented() {
    let high = SCHEMA.node(id("/toy:top/limits/high"));
    assert_eq!(high.default, Some(allod_face_restconf::tree::LeafValue::Uint(9)));
    assert!(SCHEMA.find("/toy:top/limits/more/extra").is_some());
}

#[test]
fn augmented_nodes_belong_to_the_augmenting_module() {
    let deepest = id("/toy:top/item/more:added/deep/deepest");
    assert_eq!(SCHEMA.path(deepest), "/toy:top/item/more:added/deep/deepest");
    assert!(SCHEMA.qualified(id("/toy:top/item/more:extra")));
    assert!(!SCHEMA.qualified(deepest));
    assert!(SCHEMA.find("/toy:top/item/extra").is_none(), "without its module it is the parent's");
}

#[test]
fn choices_are_not_data_nodes() {
    let (plain, round, third) =
        (id("/toy:top/item/plain"), id("/toy:top/item/round"), id("/toy:top/item/more:third"));
    let case = |node| SCHEMA.node(node).cases[0];
    assert_eq!(case(plain).choice, case(third).choice);
    assert_ne!(case(plain).case, case(round).case);
    assert_eq!(case(round).case, case(id("/toy:top/item/turns")).case);
    assert_eq!(SCHEMA.choice(case(plain).choice).default, Some(case(plain).case));
}

#[test]
fn every_operation_has_an_input_and_an_output() {
    let rest = id("/toy:rest");
    assert!(SCHEMA.input(rest).is_some() && SCHEMA.output(rest).is_some());
    assert_eq!(SCHEMA.rpcs().collect::<Vec<_>>(), [id("/toy:act"), rest]);
}

#[test]
fn modules_have_their_newest_revision_and_conformance_type() {
    let module = |name| SCHEMA.module(SCHEMA.module_named(name).unwrap());
    assert_eq!(module("toy").revision, "2026-11-15");
    assert_eq!(module("toy").features, ["colours"]);
    assert!(module("toy").implemented && module("more").implemented);
    assert!(!module("ietf-inet-types").implemented);
    assert!(module("ietf-yang-library").implemented);
}

#[test]
fn submodules_are_part_of_their_module() {
    let main = "module a { namespace urn:a; prefix a; include b; augment /a:c { uses g; } }";
    let part =
        "submodule b { belongs-to a { prefix x; } revision 2020-02-02; feature f; container c;
        typedef t { type uint8; } grouping g { leaf l { type x:t; } } leaf own { type t; } }";
    let schema = Schema::compile(&[("a.yang", main), ("b.yang", part)]).unwrap();
    assert!(schema.find("/a:c/l").is_some() && schema.find("/a:own").is_some());
    let module = schema.module(schema.module_named("a").unwrap());
    assert_eq!(module.submodules, [("b".to_owned(), "2020-02-02".to_owned())]);
    assert_eq!(module.features, ["f"]);
    let bare = "module a { namespace urn:a; prefix a; include b; }";
    let part = "submodule b { belongs-to a { prefix a; } leaf l { type string; } }";
    let schema = Schema::compile(&[("a.yang", bare), ("b.yang", part)]).unwrap();
    assert!(schema.module(schema.module_named("a").unwrap()).implemented, "by its submodule");
}

#[test]
fn local_definitions_hide_outer_ones() {
    let text = "module a { namespace urn:a; prefix a; typedef t { type string; }
        container c { typedef t { type uint8; } leaf l { type t; } } leaf m { type t; } }";
    let schema = Schema::compile(&[("a.yang", text)]).unwrap();
    let ty = |path: &str| {
        format!("{:?}", schema.node(schema.find(path).unwrap()).ty.as_ref().unwrap().base)
    };
    assert!(ty("/a:c/l").starts_with("Uint"));
    assert!(ty("/a:m").starts_with("Text"));
}

#[test]
fn quoting_and_comments_are_parsed() {
    let text = "module a { /* a { */ namespace \"urn:\" + 'a'; // ;\n prefix a;
        leaf l { type string; default \"a\\\"b\\\\c\\n\" + 'd\\n'; }
        leaf m { type string; default \"two
              lines\"; } }";
    let schema = Schema::compile(&[("a.yang", text)]).unwrap();
    for (leaf, text) in [("/a:l", "a\"b\\c\nd\\n"), ("/a:m", "two\nlines")] {
        let default = &schema.node(schema.find(leaf).unwrap()).default;
        assert_eq!(*default, Some(allod_face_restconf::tree::LeafValue::text(text)));
    }
    assert_eq!(schema.module(schema.module_named("a").unwrap()).namespace, "urn:a");
}

/// The content of a module, and the expected error.
#[test]
fn compile_errors_have_a_file_and_a_line() {
    let table = [
        ("leaf l { type strin; }", "2: unknown typedef 'strin'"),
        ("leaf l { type x:t; }", "2: unknown prefix 'x'"),
        ("leaf l;", "2: 'l' has no type"),
        ("\n\ncontainer c { uses g; }", "4: unknown grouping 'g'"),
        ("grouping g { uses g; } container c { uses g; }", "2: groupings are nested too deeply"),
        ("typedef t { type t; } leaf l { type t; }", "2: types are nested too deeply"),
        ("list l { leaf k { type string; } }", "2: list 'l' has no key"),
        ("list l { key k; }", "2: key 'k' is not a leaf of the list"),
        ("leaf l { type leafref { path ../m; } }", "2: '../m' does not lead to a leaf"),
        (
            "leaf l { type leafref { path ../m; } } leaf m { type leafref { path ../l; } }",
            "2: leafrefs form a cycle",
        ),
        ("leaf l { type uint8 { range 1..256; } }", "2: invalid range '1..256' for this type"),
        (
            "leaf l { type uint8 { range \"5..6 | 1\"; } }",
            "2: invalid range '5..6 | 1' for this type",
        ),
        ("leaf l { type string { range 1; } }", "2: invalid range '1' for this type"),
        (
            "leaf l { type uint8; default 256; }",
            "2: default: '256' is not a value of type uint8 (0..255)",
        ),
        ("leaf l { type uint8; config maybe; }", "2: invalid argument 'maybe' of 'config'"),
        ("leaf l { type identityref { base i; } }", "2: unknown identity 'a:i'"),
        ("leaf l { type enumeration; }", "2: the type has no values"),
        ("leaf l { type decimal64 { fraction-digits 19; } }", "2: fraction-digits must be 1 to 18"),
        ("leaf l { type string; } leaf l { type string; }", "2: duplicate node 'l'"),
        (
            "choice c { case a { leaf l { type string; } } case b { leaf l { type string; } } }",
            "2: duplicate data node 'l'",
        ),
        ("choice c { default x; leaf l { type string; } }", "2: case 'x' does not exist"),
        ("augment /a:x { leaf l { type string; } }", "2: node '/a:x' does not exist"),
        (
            "container c { uses g { refine x { config true; } } } grouping g { leaf l { type string; } }",
            "2: node 'x' does not exist",
        ),
        ("anydata x;", "2: data without a schema is not supported"),
        ("leaf l { type string; ", "2: 'leaf' is not closed"),
        ("leaf 'l { type string; }", "2: a quoted string is not closed"),
        ("/* leaf", "2: a comment is not closed"),
        ("leaf l { type string } ", "2: expected ';' or '{' after 'type'"),
        ("leaf \"l\" + m;", "2: expected a quoted string after '+'"),
        ("; leaf l { type string; }", "2: expected a keyword"),
    ];
    for (text, error) in table {
        let module = format!("module a {{ namespace urn:a; prefix a;\n{text}\n}}");
        let got = Schema::compile(&[("a.yang", &module)]).unwrap_err().to_string();
        let expected = format!("a.yang:{error}");
        // A missing closing brace is reported further down.
        if error.contains("closed") {
            assert!(
                got.ends_with(error.split_once(": ").unwrap().1) || got.contains("is not closed"),
                "{text}: {got}"
            );
        } else {
            assert_eq!(got, expected, "{text}");
        }
    }
}

#[test]
fn invalid_module_texts_are_refused() {
    for text in [
        "",
        "module",
        "module a",
        "module a {",
        "module a { prefix a; }",
        "leaf l { type string; }",
    ] {
        assert!(Schema::compile(&[("a.yang", text)]).is_err(), "{text}");
    }
    let twice = "module a { namespace urn:a; prefix a; }";
    assert!(Schema::compile(&[("a.yang", twice), ("b.yang", twice)]).is_err());
    assert!(Schema::compile(&[("a.yang", &format!("{twice} {twice}"))]).is_err());
    let deep = format!("module a {{ namespace urn:a; prefix a; {}", "container c {".repeat(10_000));
    let error = Schema::compile(&[("a.yang", &deep)]).unwrap_err();
    assert_eq!(error.message, "statements are nested too deeply");
}
