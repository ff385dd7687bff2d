// A parser in Go as a profile of Fencepost: go build -o my-go-parser parse.go; FENCEPOST_PROFILES=cmd:./my-go-parser
// JSON lines on standard input and output: {"text"} -> {"value"} or {"error"}; "trace" lists its attempts.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"unicode/utf8"
)

type failure struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	At      *int   `json:"at,omitempty"`
}

type attempt struct {
	Strategy string   `json:"strategy"`
	Span     [2]int   `json:"span"` // in code points of the text
	Error    *failure `json:"error,omitempty"`
}

type answer struct {
	Value any      `json:"value"`
	Trace struct {
		Attempts []attempt `json:"attempts"`
	} `json:"trace"`
}

type refusal struct {
	Error string `json:"error"`
	Trace struct {
		Attempts []attempt `json:"attempts"`
	} `json:"trace"`
}

// parse decodes the text from the first { to the last }, as many programs do.
func parse(text string) (any, attempt, error) {
	start, end := strings.Index(text, "{"), strings.LastIndex(text, "}")+1
	if start < 0 || end <= start {
		start, end = 0, len(text)
	}
	first := utf8.RuneCountInString(text[:start])
	tried := attempt{Strategy: "outermost", Span: [2]int{first, first + utf8.RuneCountInString(text[start:end])}}
	var value any
	err := json.Unmarshal([]byte(text[start:end]), &value)
	if err != nil {
		tried.Error = &failure{Type: "SyntaxError", Message: err.Error()}
		if syntax, ok := err.(*json.SyntaxError); ok && syntax.Offset > 0 {
			at := first + utf8.RuneCountInString(text[start:start+int(syntax.Offset)-1])
			tried.Error.At = &at
		}
	}
	return value, tried, err
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var request struct{ Text string }
		if json.Unmarshal(line, &request) != nil {
			continue
		}
		value, tried, err := parse(request.Text)
		if err != nil {
			said := refusal{Error: err.Error()}
			said.Trace.Attempts = []attempt{tried}
			out.Encode(said)
			continue
		}
		said := answer{Value: value}
		said.Trace.Attempts = []attempt{tried}
		out.Encode(said)
	}
}
