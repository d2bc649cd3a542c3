package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestFits: whatever a path or a message holds, the result is JSON that the kubelet keeps in full.
func TestFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(string(rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "bytes")), rapid.IntRange(0, 4000).Draw(t, "times"))
		})
		r := Result{Side: "Receiver", Result: Different, Path: Escape(text.Draw(t, "path")), What: text.Draw(t, "what"), Message: text.Draw(t, "message")}
		got := r.JSON(Most)
		if len(got) > Most {
			t.Fatalf("%d bytes", len(got))
		}
		var back Result
		if err := json.Unmarshal(got, &back); err != nil || back.Result != Different {
			t.Fatalf("%v: %s", err, got)
		}
	})
}

func TestEscape(t *testing.T) {
	for path, want := range map[string]string{"a/b c": "a/b c", "\xff\n": `\xff\n`, `\`: `\\`, "ü": `\u00fc`, `"`: `\"`} {
		if got := Escape(path); got != want {
			t.Errorf("%q: got %s, want %s", path, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	got := Line(State{Step: "copying", Done: 300, Total: 500, Entries: 3, Files: 2}, 100, 10*time.Second)
	want := []any{"step", "copying", "bytes", int64(300), "entries", int64(3), "files", int64(2), "bytesPerSecond", int64(10), "bytesLeft", int64(200), "secondsLeft", int64(20)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := Line(State{Done: 5}, 0, time.Second); len(got) != 10 {
		t.Errorf("with nothing known: %v", got)
	}
}
