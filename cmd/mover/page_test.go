package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/internal/loopback"
	"github.com/sliceshift/sliceshift/internal/manual"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/report"
)

// side is one of the two machines of the page: its folders, and the output of its mover.
type side struct {
	root, keys string
	out, log   bytes.Buffer
}

// args returns the arguments of a command on the page, with folders of this machine and a free port.
func (s *side) args(text, port string) []string {
	args := strings.Fields(strings.NewReplacer("/data", s.root, "/keys/", s.keys+"/", "sender.example:8722", port, ":8722", port).Replace(text))
	return append(args[1:], "--termination-log", filepath.Join(s.keys, "log"), "--patience", "1m")
}

// TestPage runs the commands on the pages: the sender and the receiver make the folders equal.
func TestPage(t *testing.T) {
	commands, err := manual.Of("../..", manual.Mover)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, c := range commands {
		verb := strings.Fields(c.Text)[1]
		if !slices.Contains([]string{"send", "receive"}, verb) || texts[verb] != "" {
			t.Fatalf("it is not known how to run %s", c)
		}
		texts[verb] = c.Text
	}
	sender, receiver := &side{root: t.TempDir(), keys: t.TempDir()}, &side{root: t.TempDir(), keys: t.TempDir()}
	treetest.In(t, sender.root).File("a/file", []byte("content"))
	exchange(t, sender, receiver)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	port, codes := loopback.AddressFor(t), make(chan int, 1)
	go func() { codes <- run(ctx, sender.args(texts["send"], port), noEnv, streams{&sender.out, &sender.log}) }()
	if code := run(ctx, receiver.args(texts["receive"], port), noEnv, streams{&receiver.out, &receiver.log}); code != exitDone {
		t.Fatalf("code %d\n%s", code, receiver.log.String())
	}
	if code := <-codes; code != exitDone {
		t.Fatalf("code %d\n%s", code, sender.log.String())
	}
	if r := result(t, receiver.out.Bytes(), filepath.Join(receiver.keys, "log")); r.Result != report.Equal || r.Files != 1 {
		t.Errorf("%+v", r)
	}
	if got, err := os.ReadFile(filepath.Join(receiver.root, "a", "file")); err != nil || string(got) != "content" {
		t.Errorf("got %q, %v", got, err)
	}
}

// exchange creates the key of each side, and passes its fingerprint to the other.
func exchange(t *testing.T, sides ...*side) {
	t.Helper()
	for i, s := range sides {
		var out, log bytes.Buffer
		code := run(t.Context(), []string{"key", "--identity", s.keys + "/own", "--termination-log", s.keys + "/log"}, noEnv, streams{&out, &log})
		if code != exitDone {
			t.Fatalf("code %d\n%s", code, log.String())
		}
		if err := os.WriteFile(sides[1-i].keys+"/peer", out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
