"""Documents of the context language that several tests use."""

# The base document of the requirements.
DOC = """\
[[MODULE]]
name: m
description: "d"
[[ENUM]]
name: WorkMode
values: [research, design, test]
[[/ENUM]]
[[STATE]]
name: mode
type: WorkMode
default: design
[[/STATE]]
[[RESPONSE]]
responses:
  - id: r1
[[/RESPONSE]]
[[PROTOCOL]]
protocols:
  - id: p1
    rules:
      - id: no_web
        check: {type: forbid_tool, tool: web.run}
[[/PROTOCOL]]
[[COMMAND]]
name: setmode
args:
  kind: positional
  positional:
    - {name: value, type: WorkMode}
effects:
  set_state:
    - {name: mode, value: "$arg0"}
[[/COMMAND]]
[[COMMAND]]
name: guard
effects:
  enable:
    responses: [r1]
    protocols: [p1]
[[/COMMAND]]
[[/MODULE]]
"""

# Another module, with everything that the first one has not.
REVIEW = """\
# Reviews

[[MODULE]]
name: review
description: Reviews have sections.

[[ENUM]]
name: Depth
values: [quick, full, "two words", "true"]
[[/ENUM]]

[[STATE]]
name: depth
type: Depth
default: quick
[[/STATE]]

[[STATE]]
name: note
type: String
[[/STATE]]

[[STATE]]
name: counts
type: Map<String,List<Int>>
default: {a: [1, 2]}
[[/STATE]]

[[RESPONSE]]
responses:
  - id: findings
    description: What was found,
      and why.
    constraints:
      structure:
        sections: [Summary, Risks]
      must_include: ["verdict:"]
      formatting: {allow_code_blocks: false, forbid_tables: true}
  - id: chat
[[/RESPONSE]]

[[PROTOCOL]]
protocols:
  - id: careful
    description: Look before you speak.
    rules:
      - {id: no_files, check: {preset: no_file_output}}
      - {id: reads, check: {type: require_tool, tool: read_file}}
      - {id: plan, check: {type: require_block, block_type: PLAN}}
      - {id: form, check: {type: require_response_id, response_id: findings}}
[[/PROTOCOL]]

[[WORKFLOW]]
workflows:
  - id: start
    description: How a review goes.
    steps:
      - {kind: emit_response, ref: findings}
      - {kind: enforce_protocol, ref: careful}
      - {kind: enforce_checklist}
[[/WORKFLOW]]

[[COMMAND]]
name: begin
description: Begin a review.
args:
  kind: named
  named:
    - {name: depth, type: Depth}
    - {name: loud, type: Bool}
    - {name: note, type: String}
effects:
  set_state:
    - {name: depth, value: $depth}
    - {name: note, value: $note}
  enable:
    responses: [findings, chat]
    workflows: [start]
    protocols: [careful]
[[/COMMAND]]
[[/MODULE]]
"""
