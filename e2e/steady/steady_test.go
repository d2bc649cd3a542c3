package steady

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestWork: every started operation is recorded, including those in flight at the end. An existing record is never
// appended to.
func TestWork(t *testing.T) {
	c := Client{Out: filepath.Join(t.TempDir(), "record"), Name: "a", Workers: 2, Interval: time.Millisecond, Timeout: time.Minute}
	ctx, cancel := context.WithCancel(t.Context())
	var begun atomic.Int64
	err := c.Work(ctx, func(within context.Context, w Worker) any {
		if begun.Add(1) == 5 {
			cancel()
		}
		if within.Err() != nil {
			t.Error("what was begun is cut short")
		}
		return w
	})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(c.Out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	next := map[string]int{}
	lines := int64(0)
	for scanner := bufio.NewScanner(file); scanner.Scan(); lines++ {
		var w Worker
		if err := json.Unmarshal(scanner.Bytes(), &w); err != nil || w.N != next[w.Name] {
			t.Errorf("%s, %v: it should be number %d", scanner.Text(), err, next[w.Name])
		}
		next[w.Name]++
	}
	if lines != begun.Load() || len(next) != 2 {
		t.Errorf("%d of %d are recorded, of %v", lines, begun.Load(), next)
	}
	if err := c.Work(ctx, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("it goes on with the record of another: %v", err)
	}
}

// TestKeep: a kept value replaces the previous one.
func TestKeep(t *testing.T) {
	c := Client{Out: filepath.Join(t.TempDir(), "final")}
	for _, want := range []string{`["a"]`, `["b"]`} {
		if err := c.Keep([]string{strings.Trim(want, `["]`)}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(c.Out); err != nil || string(got) != want {
			t.Errorf("%s, %v", got, err)
		}
	}
}

// TestCommand: each command has the common flags and those of the program.
func TestCommand(t *testing.T) {
	var c Client
	members := ""
	p := Program{
		Client: &c, Usage: "-members", Flags: func(flags *flag.FlagSet) { flags.StringVar(&members, "members", "", "") },
		Run: func(context.Context) error { return errors.New("run") }, Final: func(context.Context) error { return errors.New("final") },
	}
	c.Timeout = time.Second
	for want, args := range map[string][]string{
		"run":                              {"run", "-members", "a", "-name", "n"},
		"final":                            {"final", "-members", "a", "-name", "n"},
		`"other" is neither run nor final`: {"other", "-members", "a", "-name", "n"},
		"usage: client run|final -members": nil,
	} {
		if err := p.command(t.Context(), args); err == nil || err.Error() != want {
			t.Errorf("%q: %v", args, err)
		}
		if len(args) > 0 && (members != "a" || c.Name != "n" || c.Timeout != time.Second || c.Workers != 4) {
			t.Errorf("%q: members %q, %+v", args, members, c)
		}
	}
}
