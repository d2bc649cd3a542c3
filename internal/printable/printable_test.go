package printable

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// hostile contains text that controls a terminal, or looks like other text: OSC 52 and 8, CSI, C1, a carriage return,
// bidirectional overrides, zero-width characters, tags and fillers.
const hostile = "a\x1b]52;c;ZXZpbA==\a\x1b]8;;http://evil\x1b\\\x1b[2J\x1b[31mred\u009b31m\rb\b\u202edcba\u2066\u200b\u200d\ufeff\u00ad\u2028\U000e0041\u3164\ufe0f\x00\x7f"

func acts(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return !safe(r) && r != '\uFFFD' })
}

// TestK6Text: no control character remains, JSON keeps its value, and displayable text does not change.
func TestK6Text(t *testing.T) {
	got := Text(hostile)
	if acts(got) {
		t.Errorf("%q acts", got)
	}
	data, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal([]byte(Text(string(data))), &back); err != nil || back != hostile {
		t.Errorf("as JSON it is %q, %v", back, err)
	}
	const plain = "ordinal 3 · ● ◐ ━ ─ Zürich 東京 €\n\t\"quoted\" \\u1234"
	if got := Text(plain); got != plain {
		t.Errorf("%q", got)
	}
}

// TestK6Coloured: only the colour sequences of this program remain.
func TestK6Coloured(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[31mred\x1b[0m":      "\x1b[31mred\x1b[0m",
		"\x1b[1m\x1b[33mb\x1b[0m": "\x1b[1m\x1b[33mb\x1b[0m",
		"\x1b[8mhidden":           `\u001b[8mhidden`,
		"\x1b[31;8mhidden":        `\u001b[31;8mhidden`,
		"\x1b[2Aup\x1b[J":         `\u001b[2Aup\u001b[J`,
		"\x1b":                    `\u001b`,
	} {
		if got := Coloured(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestK6Writer: text in several parts is escaped like text in one part, and Behind bypasses the Writer.
func TestK6Writer(t *testing.T) {
	var out strings.Builder
	gate := NewWriter(&out)
	for _, part := range []string{"\xe2", "\x80", "\xaeabc\n", "Z\xc3", "\xbcrich", "\x1b[2J"} {
		if n, err := io.WriteString(gate, part); n != len(part) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if want := "\\u202eabc\nZürich\\u001b[2J"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	if Behind(gate) != io.Writer(&out) || NewWriter(gate) != gate || Behind(&out) != io.Writer(&out) {
		t.Error("what is behind it is another writer")
	}
}

// TestK6Transport: error answers of an API server and connection errors are escaped, and other answers are not changed.
func TestK6Transport(t *testing.T) {
	status, err := json.Marshal(map[string]any{"kind": "Status", "code": 403, "message": hostile, "details": map[string]any{"causes": []any{map[string]any{"message": hostile}}}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/status":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write(status)
		case "/text":
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, hostile)
		default:
			_, _ = io.WriteString(w, hostile)
		}
	}))
	defer server.Close()
	client := &http.Client{Transport: Transport{http.DefaultTransport}}
	for path, gated := range map[string]bool{"/status": true, "/text": true, "/data": false} {
		resp, err := client.Get(server.URL + path) //nolint:noctx // of a test
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || acts(string(body)) == gated || gated && !strings.Contains(string(body), "202e") {
			t.Errorf("%s: %q, %v", path, body, err)
		}
		var value map[string]any
		if path == "/status" && (json.Unmarshal(body, &value) != nil || acts(value["message"].(string))) { //nolint:forcetypeassert // it is one
			t.Errorf("%s: %q", path, body)
		}
	}
	cause := errors.New(hostile)
	if err := Error(cause); acts(err.Error()) || !errors.Is(err, cause) {
		t.Errorf("%q", err)
	}
	if plain := errors.New("plain"); Error(plain) != plain { //nolint:errorlint // that very one
		t.Error("an error that can be shown is another one")
	}
}
