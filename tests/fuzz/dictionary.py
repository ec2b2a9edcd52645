"""The words that the inputs of each parser are made of; mutations put them anywhere."""


def words(*texts, raw=()):
    """Whitespace separates the words, so that a dictionary stays readable; `raw` as it is."""
    return (*(word.encode() for text in texts for word in text.split()), *raw)


_NUMBERS = "0 1 -1 2 64 1e308 1e999 0.5 9223372036854775808 007 1_000 0x1f " + "9" * 1_300
_TEXTS = "'' 'a' \"é\" '\\u0041' '\\x41' '\\n' '" + "x" * 300 + "' ' \" \\ é 😀 \u202e"
_OPERATORS = "+ - * / % // ** == != < <= > >= and or not in is if else ( ) [ ] { } , . : :="
_CALLS = "search shell last_user last_tool context $.a.b $ a.b rule-1"
_NAMES = (
    "context.turn.token_usage context.history.messages context.history.tools context.state.b "
    "context.state.text context.user.settings context.event context.result.error m.content x y"
)

WORDS = {
    "guards": words(
        _NUMBERS, _TEXTS, _OPERATORS, _CALLS, "true false null event.name event.tool.args a b c d",
        "turn_index last_role ever_called( count_calls( called_since( arg( jsonpath( tokens(",
        "text_contains( now() since_ms('rule-1') 'last_user') 'context') ('$.q') ('n')",
        raw=(b" ", b"\n", b"\0", b"\xff", b"\r\n"),
    ),
    "conditions": words(
        _NUMBERS, _TEXTS, _OPERATORS, _NAMES, "None True False lambda f'{x}' f'{ {x} !r:>{y}}'",
        "[x for_x_in y] .get( .items() .split( .join( .replace( .count( .index( .lower() [::-1]",
        "sorted( min( max( sum( len( int( float( str( bool( round( abs( any( all( reverse=",
        "default= tool_completed( context_above_threshold( __class__ await yield # \\",
        raw=(b" for x in ", b" for x, y in ", b" if x ", b" ", b"\n", b"\0", b"\xff", b"\x0c"),
    ),
    "paths": words(
        "* ** ? / // ./ ../ . .. {a} {b} {path} {*} {**} {js,ts} {,} {} { } , \\ src/ .py [ ] ! ~",
        "{a,b,c,d,e,f} é 😀 a aa a/b/c **/ /** *.* {name}.{ext}", "x" * 300,
        raw=(b"\n", b"\0", b"\xff", b"\r", b" ", b"/" * 2_000),
    ),
    "templates": words(
        "{{ }} {% %} {# #} {%- -%} {{- -}} if elif else endif for in endfor raw endraw set",
        "context.turn.number context.history.messages text context.user loop.index m.content",
        "|upper |join(',') |default('x') |tojson |round(2) |replace('a','b') |truncate(5) |length",
        "|abs |title |int |first |last |trim is defined is_none divisibleby(2) ~ ** recursive",
        "macro call include import extends block filter with autoescape do self namespace range(9)",
        "['_x'] [0] [-1] [1:2] .__class__ _private caller( *args **kw", _NUMBERS, _TEXTS, _OPERATORS,
        raw=(b" ", b"\n", b"\r\n", b"\r", b"\0", b"\xff", b"# "),
    ),
    "yaml": words(
        "--- ... - ? : key: - | > |2- >+ & &a * *a ! !!str !<x> % %YAML 1.2 %TAG [ ] { } , # @ `",
        'true null ~ .inf -.INF .nan 0o7 0x1F 1e5 12:30:45 2026-01-01 << <<: yes "\\u0041" "\\x"',
        _NUMBERS, _TEXTS,
        raw=(b"\n", b"\n  ", b"\n- ", b": ", b"\t", b"\r\n", b"\r", b"\0", b"\xef\xbb\xbf", b"\xff",
         b"\xc2\x85", b"\xe2\x80\xa8", b"\xed\xa0\x80", b" #"),
    ),
    "toml": words(
        "[ ] [[ ]] [a] [[a]] [a.b] = . , { } # ' \" \"\"\" ''' true false inf -nan 0x1F 1e5 a b = c.d",
        '1979-05-27 07:32:00 1979-05-27T07:32:00Z "\\u0041" discover book path dialect journal',
        _NUMBERS, _TEXTS,
        raw=(b"\n", b"\r\n", b"\r", b"\t", b"\0", b"\xff", b"\xef\xbb\xbf", b" = ", b"\n[", b"\\\n"),
    ),
    "toml_rules": words(
        "[rule] [condition] [action] [[rule]] [action.payload] rule. action. condition. = . , { } [ ]",
        "id name description version trigger priority enabled core plugin_id expression script type",
        "message category deliver_at level key value event_type payload on_turn_start on_tool_complete",
        "on_session_end notify_self log set_state emit_event turn_start after_tool immediate critical",
        'true false inf -nan 0x1F 0 1000 1001 1979-05-27T07:32:00Z "1.0.0" "\\u0041" "\\ud800" "" \'\'',
        "{{ }} {% %} {# #} {{1}} {{context.state.k}} {{context.turn.number}} {{x}} context. .__class__",
        _NUMBERS, _TEXTS, _OPERATORS, _NAMES,
        raw=(b"\n", b"\r\n", b"\r", b"\t", b"\0", b"\xff", b"\xef\xbb\xbf", b" = ", b"\n[", b"\\\n",
             b'"""', b"'''", b"\n[condition]\nexpression = ", b"\nmessage = "),
    ),
    "chatmd": words(
        "<user> </user> <assistant> </assistant> <msg <tool_call> </tool_call> <tool_response> <system>",
        "</tool_response> <reasoning> </reasoning> <summary> </summary> <doc <img <agent> </agent> <import",
        "<rules> </rules> <policy> </policy> <on <on> </on> <insert> </insert> <call> </call> <deny <set <tool",
        "<tool> </tool> <check <archive> </archive> <config <script> </script> <shell_access> <ruleset> <b <div>",
        "</user > <raw> </raw> src= if= local name= command= max_tokens= &lt; &amp; &quot; & ; = /> > < </ / \\",
        "<!-- --> <!- RAW| |RAW RA |RA DRAW| | ``` {\"q\": } ' \" '>' \"<\" =\" ='", _TEXTS,
        raw=(b" ", b"\n", b"\n\t", b"\n\t\t", b"\r\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b'\\"', b"\n|RAW\n"),
    ),
    "chatmd_rules": words(
        "<rules> </rules> <policy> </policy> <on> </on> <on <insert> </insert> <insert <call> </call> <call <deny <set",
        "<agent> </agent> <compact <stop/> <tool> </tool> <tool <requires <validate> </validate> <check <quota <cooldown",
        'id="a" event="turn_start" event="pre_tool_call" event="post_tool_response" event="message_appended" tool="X"',
        'tool="*" priority="-1" once="true" cooldown_turns="1" cooldown_ms="5" role="user" role="developer" reason="no"',
        'var="n" value="[n,n]" value="n" keep="latest:1" strategy="summary" threshold_tokens="9" src="a.chatmd" name="X"',
        'tools="Y" mode="warn" level="warn" message="m" per_turn="1" per_session="0" turns="1" trace="true" synthetic="true"',
        'max_actions_per_event="2" max_calls_per_event="2" via_rule="a" if="true" if="n" if=\'arg("q")\' since_ms(\'a\')',
        "&lt; &quot; &amp; /> > < </ <!-- --> RAW| |RAW {\"q\": } {} null ' \"", _NUMBERS, _TEXTS, _OPERATORS, _CALLS,
        raw=(b" ", b"\n", b"\n    ", b"\r\n", b"\0", b"\xff", b"\xef\xbb\xbf", b' if="', b'"'),
    ),
    "context": words(
        "[[MODULE]] [[/MODULE]] [[ENUM]] [[/ENUM]] [[STATE]] [[/STATE]] [[COMMAND]] [[/COMMAND]] [[RESPONSE]] [[/RESPONSE]]",
        "[[WORKFLOW]] [[/WORKFLOW]] [[PROTOCOL]] [[/PROTOCOL]] [[LANGUAGE_SPEC]] [[/LANGUAGE_SPEC]] [[GUIDELINES]] [[/GUIDELINES]]",
        "name: type: default: values: description: args: kind: positional named effects: enable: set_state: value: reads_state:",
        "writes_state: responses: workflows: protocols: id: rules: check: preset: steps: ref: constraints: structure: sections:",
        "must_include: formatting: allow_code_blocks: forbid_tables: tool: block_type: response_id: forbid_tool require_tool",
        "forbid_block require_block require_response_id no_browsing no_code_execution require_code_execution no_file_output",
        "Bool Int String List< Set< Map<String, > List<Set<Int>> emit_response enforce_protocol m.x a.b $arg0 $arg1 $state.mode",
        "${$arg0} ${ $ } $level version: 0.4.20 true false null & * ! <<: --- ... { } [ ] , : - | > # 'x' \"\\u2028\" 1.5",
        _NUMBERS, _TEXTS,
        raw=(b"\n", b"\n  ", b"\n- ", b": ", b"\t", b"\r\n", b"\r", b"\0", b"\xef\xbb\xbf", b"\xff", b"\xc2\xa0", b"[["),
    ),
    "context_calls": words(
        "/set( /m.set( /named( /go() /m.go() /n.go() /x.go() set( go() go /go /set /m..go() l= x= y= ) ( , = [ ] { } : / a b-c",
        'true_ two_words true false null 7 -1 1.5 1e5 "x" "${$arg0}" "\\u0000" "\\ud800" {"k":[[1]]} {"k":[[1,1]]} []',
        "ERROR: ai-context-language code: details: [[FILE]] | - ```", _NUMBERS, _TEXTS,
        raw=(b" ", b"\n", b"\n/go()\n", b"\r\n", b"\r", b"\t", b"\0", b"\xff", b"\xc2\xa0", b"\xe2\x80\xa8", b" " * 3_000),
    ),
    "law": words(
        "dsl_version: rules: rule_id: priority: trigger: kind: match: paths: event_types: command_types: guards: phase_in: category_in:",
        "require_lock: approval: mode: authorities: actions: on_error: continue: type: lock_key: cmd: cwd: timeout_sec: channel: template:",
        "to: payload_template: fs_event bus_input created modified deleted renamed task exec approval_request none single dual retroactive",
        "antigravity human write_processing_lock run_cmd write_bus request_approval release_lock input output error processing A B C D",
        '"0.1" 0.1 {{run}} {{msg_id}} {{path}} {{error}} {{x}} {{ }} npm python && $(x) ** src/** {a,b} {name} true null [] {} - & * ! ---',
        _NUMBERS, _TEXTS,
        raw=(b"\n", b"\n  ", b"\n  - ", b": ", b"\t", b"\r\n", b"\0", b"\xef\xbb\xbf", b"\xff", b" #"),
    ),
    "law_commands": words(
        "npm pnpm yarn python pytest node python3 ./npm A=b -c -- ' \" '' \"\" \\ \\' \\\" \\$ $ ${ $( ` ; & && | || < > >> ( ) # * ? ~ [ ] { {{ }} = !",
        _TEXTS, raw=(b" ", b"\n", b"\r\n", b"\t", b"\0", b"\xff", b"\\\n", b"\xc2\xa0", b"x" * 5_000),
    ),
    "policies": words(
        "--- ---- name: trigger: safety: set: pair: expects: created: action: command: run_for: compare_to: instructions: base default_tip prompt",
        "each_match all_matches {file} {files} {repo_root} {trigger_file} {trigger_files} {expected_files} {x} {path} {name} {*} {**} {js,ts}",
        "src/{path}.py tests/{path}_test.py src/**/*.py *.md README.md - [ ] { } , ' \" \\ && $(x) ! & * ? / .. <promise> </promise>",
        _NUMBERS, _TEXTS,
        raw=(b"\n", b"\n---\n", b"\n  - ", b": ", b"\t", b"\r\n", b"\0", b"\xef\xbb\xbf", b"\xff", b" #"),
    ),
    "events": words(
        '{ } [ ] : , " \\ \\u0000 \\ud800 \\ud83d\\ude00 null true false NaN Infinity -0 1.5 1e400',
        '"kind" "tool.before" "tool.after" "turn.end" "message" "file" "bus" "effect" "session"',
        '"facts" "changes" "entries" "approvals" "phase" "args" "at" "seq" "round" "tokens"',
        '"status" "ok" "path" "change" "role" "text" "payload" "cause":["a"] "x":{}', _NUMBERS,
        raw=(b" ", b"\n", b"\0", b"\xff", b"\xef\xbb\xbf"),
    ),
    "facts": words(
        '{ } [ ] : , " \\ \\u0000 \\ud800 null true false NaN Infinity -0 1.5 1e400 1e999 "a" "é"',
        '"turn_index": "calls": "last": "vars": "event": "tool": "args": "name": "now":',
        '"fired_at": "context": "turn": "history": "messages": "tools": "state": "token_usage":',
        '"result": "payload": "duration_ms": "failures": "user":', _NUMBERS,
        raw=(b" ", b"\n", b"\0", b"\xff", b"\xef\xbb\xbf"),
    ),
    "pages": words(
        "# ## ### ``` ```` ```run ```json [CM-024] [CM-A21,x] [exit_0] $ bylaw bylaw_expr ' \" \\ [ ]",
        "../x /x a.json ~~~ ```events ```expect ```state ```diagnostics {} { } , : 1 null NaN",
        'error warning x "y" "\\n" {"verdict":"deny"} {"reasons":[{}]} [ ] \\ud800',
        raw=(b"\n", b"\n## T\n", b"\n```events\n{}\n```\n", b"\n```expect\n{}\n```\n", b"\n```run\n$ bylaw x\n[exit 0]\n```\n", b"\n$ bylaw ", b"\n[exit 0]\n",
         b"\n```", b"```json f.json\n", b"\r\n", b"\r", b"\0", b"\xff", b"\xe2\x80\xa8", b" " * 500),
    ),
}  # fmt: skip

# Larger inputs from whole ones, each `%` standing for an input of the corpus.
FRAMES = {
    "guards": (
        b"(%) and (%)", b"not (%)", b"[%, %] == [%]", b"(%) + (%)", b"-(%) < (%)", b"(%) in [%, %]",
        b"(%) / (%) * (%)", b"count_calls(%)", b"called_since('search', %)", b"arg(%)", b"(%) == (%)",
    ),
    "conditions": (
        b"(%) and (%)", b"[x for x in (%)]", b"{%: %}", b"{%, %}", b"(%) + (%)", b"(%) * (%)",
        b"(%) if (%) else (%)", b"(%)[%]", b"(%)[%:%]", b"sorted(%)", b"str(%)", b"(%) in (%)",
        b"(%) < (%) == (%)", b"f'{(%)} {(%)}'", b"[[x, y] for x in (%) for y in (%)]", b"max(%, %)",
        b"(%).get(%)", b"(%).split(%)", b"','.join([%, %])", b"(%).replace(%, %)", b"int(%)",
        b"{x for x in (%)}", b"{x: (%) for x in (%)}", b"round(%)", b"sum(%)", b"(%) ** (%)",
        b"(%).count(%)", b"[x.name for x in (%) if (%)]", b"(%, %)", b"-(%)", b"(%).k",
    ),
    "paths": (b"%\n%", b"%%"),
    "templates": (
        b"%%", b"{{ (%) }}", b"{{ text | default('') }}%",
    ),
    "yaml": (b"- %", b"[%, %]", b"{a: %}", b'"%"', b"%\n%", b"a: |\n %"),
    "toml": (b"a = %\n%", b"[%]\n%", b"[[a]]\n% = %", b"a = [%, %]", b"a = {b = %}", b"%.% = 1"),
    "toml_rules": (
        b"%\n%", b'[rule]\nid = "a"\ntrigger = "on_turn_start"\n[condition]\nexpression = "%"\n[action]\ntype = "log"\n',
        b"[rule]\nid = 'a'\ntrigger = 'on_turn_end'\n[condition]\nexpression = 'True'\n[action]\n%\n",
        b'[rule]\nid = "a"\ntrigger = "on_turn_start"\n[condition]\nexpression = "True"\n[action]\ntype = "notify_self"\nmessage = """%"""\n',
        b"[rule]\n%\n[condition]\n%\n[action]\n%\n",
    ),
    "chatmd": (
        b"<user>%</user>", b"%\n%", b"<rules><on>%</on></rules>", b"<tool_response>\nRAW|\n%\n|RAW\n</tool_response>",
        b"<call>%</call>", b"<rules><on><insert>%</insert><call>%</call></on></rules>", b'<user a="%">%</user>',
        b"<archive>%</archive>", b"<!-- % -->", b"<reasoning><summary>%</summary></reasoning>", b"<tool>%</tool>",
    ),
    "chatmd_rules": (
        b"%\n%", b"<rules>%</rules>", b"<policy><tool name='X'>%</tool></policy>",
        b"<rules max_actions_per_event='9'><on event='pre_tool_call' if='%'>%</on></rules>",
        b"<rules><on event='turn_start'><insert role='user'>%</insert></on></rules>",
        b"<rules><on event='pre_tool_call'><call tool='t'>%</call></on></rules>",
        b"<rules><on event='turn_start'><set var='n' value='%'/></on></rules>",
        b"<policy><tool name='X'><validate><check if='%' message='%'/></validate></tool></policy>",
    ),
    "context": (
        b"%\n%", b"[[MODULE]]\nname: m\ndescription: d\n%\n[[/MODULE]]\n",
        b"[[MODULE]]\nname: m\ndescription: d\n[[ENUM]]\nname: E\nvalues: [a, b]\n[[/ENUM]]\n[[STATE]]\n%\n[[/STATE]]\n[[/MODULE]]\n",
        b"[[MODULE]]\nname: m\ndescription: d\n[[COMMAND]]\nname: c\neffects: {set_state: [{name: s, value: '%'}]}\n[[/COMMAND]]\n[[/MODULE]]\n",
        b"[[LANGUAGE_SPEC]]\n%\n[[/LANGUAGE_SPEC]]\n%",
    ),
    "context_calls": (
        b"%\n%", b"/set(%)", b"/set(a, %)", b"/named(l=%)", b"/%()", b"set(%)", b"/set %", b' /set(a, "%")',
    ),
    "law": (
        b"%\n%", b'dsl_version: "0.1"\nrules:\n- %\n- %\n', b"rule_id: R\npriority: 1\ntrigger: {kind: bus_input}\nactions:\n- %\n",
        b"rule_id: R\npriority: 1\ntrigger: {kind: fs_event, match: {paths: [%]}}\nactions:\n- {type: write_bus, channel: output, template: '%'}\n",
        b"rule_id: R\npriority: 1\ntrigger: {kind: bus_input}\nactions:\n- {type: run_cmd, cmd: '%', cwd: src, timeout_sec: 1}\n",
    ),
    "law_commands": (b"npm %", b"%%", b"npm '%' %", b'npm "%"', b"npm %\\ %"),
    "policies": (
        b"---\n%\n---\n%", b"---\ntrigger: '%'\nsafety: '%'\n---\n%\n", b"---\nset: ['%', '%']\n---\n%\n",
        b"---\npair: {trigger: '%', expects: '%'}\n---\n%\n", b"---\ncreated: '%'\naction: {command: '%'}\n---\n",
        b"---\ntrigger: '**'\naction: {command: 'x % {file}'}\n---\n", b"---\nname: '%'\ntrigger: '**'\n---\n%",
    ),
    "events": (
        b'{"kind":"tool.before","tool":"t","args":{"a":%}}', b'{"kind":"custom","type":"t","payload":%}',
        b'{"kind":"bus","message":%,"digest":"d"}', b'{"kind":"prompt","text":"x","facts":%}', b"%\n%",
    ),
    "facts": (
        b'{"vars":{"a":%,"b":%}}', b'{"event":{"tool":{"args":%}}}', b'{"context":{"state":{"a":%}}}',
        b'{"context":{"event":{"type":"t","payload":{"p":%}}}}', b'{"vars":{"a":[%,%]}}',
    ),
    "pages": (
        b"%\n%", b"## T\n\n```run\n$ %\n[exit 0]\n```\n", b"```json a.json\n%\n```\n",
        b"## T\n```events\n%\n```\n```expect\n%\n```\n", b"```state\n%\n```\n",
        b"```diagnostics\nerror x %\n```\n",
    ),
}  # fmt: skip
