package process

import (
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	many := strings.Repeat("line\n", 100)
	tests := map[string]struct{ log, want string }{
		"empty":              {},
		"last lines":         {log: many + "the end\n", want: strings.Repeat("line\n", lastLines-1) + "the end"},
		"a panic":            {log: many + "panic: here\n\ngoroutine 1", want: "panic: here\n\ngoroutine 1"},
		"a long panic":       {log: "panic: here\n" + many, want: "panic: here\n" + strings.Repeat("line\n", panicLines-2) + "line"},
		"a signal":           {log: many + "SIGSEGV: here\nline\n", want: "SIGSEGV: here\nline"},
		"the last of two":    {log: "fatal error: one\n" + many + "panic: two\n", want: "panic: two"},
		"a word in a line":   {log: "no panic: here\nline\n", want: "no panic: here\nline"},
		"a panic in a panic": {log: "panic: one [recovered]\n\tpanic: two\n", want: "panic: one [recovered]\n\tpanic: two"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if have := excerpt([]byte(tc.log)); have != tc.want {
				t.Errorf("excerpt:\n%s\nwant\n%s", have, tc.want)
			}
		})
	}
}
