package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/internal/loopback"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/link"
	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/mover/transfer"
	"github.com/sliceshift/sliceshift/mover/tree"
)

const someKey = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func noEnv(string) string { return "" }

// TestBadInput: each invalid option has its message, and ends the mover before it does anything.
func TestBadInput(t *testing.T) {
	good := []string{"receive", "--root", t.TempDir(), "--listen", "127.0.0.1:0", "--peer", someKey, "--termination-log", t.TempDir() + "/log"}
	with := func(args ...string) []string { return append(append([]string{}, good...), args...) }
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"give a command: send":                                 {},
		`"copy" is none of send, receive, seal, key and reach`: {"copy"},
		"give --identity, the file for the key":                {"key"},
		"unknown flag: --root":                                 {"key", "--root", "/"},
		"--identity: ":                                         {"key", "--identity", file},
		"give --root for a tree or --device":                   {"send", "--listen", ":1", "--peer", someKey},
		"and not both":                                         with("--device", "/dev/x"),
		"give --listen on the side":                            {"send", "--root", "/", "--peer", someKey},
		"where neither can be, --listen to the receiver":       {"send", "--root", "/", "--peer", someKey, "--relay", ":1", "--connect", "host:1"},
		"unknown flag: --relay":                                with("--relay", ":1"),
		"--relay: listen tcp":                                  {"send", "--root", "/", "--peer", someKey, "--relay", "256.0.0.1:1"},
		"is no address":                                        {"send", "--root", "/", "--peer", someKey, "--connect", "host"},
		"give --peer, the fingerprint":                         {"send", "--root", "/", "--listen", ":1"},
		`--peer: "sha256:12" is no fingerprint`:                with("--peer", "sha256:12"),
		"--pass is Warm or Last":                               with("--pass", "Cold"),
		"--verify is Full, Changed, Later or None":             with("--verify", "Some"),
		"--verify Changed needs --copy":                        with("--verify", "Changed"),
		"--copy is up to 200 letters":                          with("--copy", "../x"),
		"--compare is Quick or Content":                        with("--compare", "Slow"),
		"--connections is a number from 1 to 32, not 0":        with("--connections", "0"),
		"--patience is a time above 0":                         with("--patience", "0s"),
		"--progress is a time above 0":                         with("--progress", "-1s"),
		"--log-level is debug or info":                         with("--log-level", "loud"),
		`--bandwidth: "fast" is no number of bytes a second`:   {"send", "--root", "/", "--listen", ":1", "--peer", someKey, "--bandwidth", "fast"},
		"unknown flag: --bandwidth":                            with("--bandwidth", "1Mi"),
		`"now" is no flag`:                                     with("now"),
		"no such file or directory":                            with("--root", "/no/such/folder"),
		"not a directory":                                      with("--root", file),
		"is no block device":                                   {"seal", "--device", file},
		"--peer-file":                                          {"receive", "--root", t.TempDir(), "--listen", "127.0.0.1:0", "--peer-file", file},
		"remove it, and the mover creates a new one":           with("--identity", file),
		"--listen: listen tcp":                                 with("--listen", "256.0.0.1:1"),
		`"x" is no tally`:                                      {"seal", "--root", "/", "--tally", "x"},
		"unknown unit":                                         with("--progress", "10x"),
		"unknown flag: --verify":                               {"seal", "--root", "/", "--verify", "Changed"},
	} {
		t.Run(want, func(t *testing.T) {
			var out, log bytes.Buffer
			if code := run(t.Context(), args, noEnv, streams{&out, &log}); code != exitUsage {
				t.Errorf("exit code %d", code)
			}
			if !strings.Contains(log.String(), want) {
				t.Errorf("got %s", log.String())
			}
		})
	}
}

// TestEnvironment: a variable applies if its flag is not set.
func TestEnvironment(t *testing.T) {
	env := map[string]string{"MOVER_ROOT": "/a", "MOVER_LISTEN": ":5", "MOVER_PEER_FILE": "/f", "MOVER_CONNECTIONS": "7"}
	s, err := parse("receive", []string{"--listen", ":6"}, func(name string) string { return env[name] })
	if err != nil || s.root != "/a" || s.listen != ":6" || s.peerFile != "/f" || s.connections != 7 {
		t.Errorf("got %+v, %v", s, err)
	}
	env["MOVER_CONNECTIONS"] = "many"
	if _, err := parse("receive", nil, func(name string) string { return env[name] }); err == nil || !strings.Contains(err.Error(), "MOVER_CONNECTIONS") {
		t.Errorf("got %v", err)
	}
}

// result parses the output of a mover, and checks that the termination message is the same.
func result(t *testing.T, out []byte, log string) (r report.Result) {
	t.Helper()
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	message, err := os.ReadFile(log)
	if err != nil || !bytes.Equal(bytes.TrimSpace(out), message) {
		t.Errorf("the termination message is %s (%v)", message, err)
	}
	return r
}

// TestKey: a key is created once. The output is its fingerprint, in the form that the other mover accepts.
func TestKey(t *testing.T) {
	dir := t.TempDir()
	var said [2]string
	for i := range said {
		var out, log bytes.Buffer
		message := filepath.Join(dir, "log")
		if code := run(t.Context(), []string{"key", "--identity", dir + "/key", "--termination-log", message}, noEnv, streams{&out, &log}); code != exitDone {
			t.Fatalf("exit code %d\n%s", code, &log)
		}
		text, err := os.ReadFile(message)
		if err != nil {
			t.Fatal(err)
		}
		if said[i] = string(text); out.String() != said[i]+"\n" {
			t.Errorf("it prints %q, and its termination message is %q", &out, said[i])
		}
	}
	identity, err := link.LoadIdentity(dir + "/key")
	if err != nil || said[0] != string(identity.Fingerprint) || said[1] != said[0] {
		t.Errorf("said %q, and the key is %s (%v)", said, identity.Fingerprint, err)
	}
}

// TestOneReceiver: two receivers cannot write to a folder at once, because data for the first could arrive after the
// proof of the second.
func TestOneReceiver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := tree.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	if err := first.Lock(); err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	args := []string{"receive", "--root", dir, "--connect", "127.0.0.1:1", "--peer", someKey, "--termination-log", filepath.Join(t.TempDir(), "log"), "--patience", "1s"}
	if code := run(t.Context(), args, noEnv, streams{&out, &log}); code != exitFailed || !strings.Contains(log.String(), "another mover writes to "+dir) {
		t.Errorf("exit code %d\n%s", code, &log)
	}
}

// TestUnreachable: a mover that cannot reach its peer, or gets no answer, ends after its patience.
func TestUnreachable(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for name, address := range map[string]string{"M-086: nobody listens": "127.0.0.1:1", "M-086: nobody answers": silent.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, log bytes.Buffer
			message := filepath.Join(t.TempDir(), "log")
			code := run(t.Context(), []string{"receive", "--root", t.TempDir(), "--connect", address, "--peer", someKey, "--termination-log", message, "--patience", "1s"}, noEnv, streams{&out, &log})
			if r := result(t, out.Bytes(), message); code != exitFailed || r.Result != report.Failed || r.Message == "" {
				t.Errorf("exit code %d, %+v\n%s", code, r, &log)
			}
		})
	}
}

// TestMove: a sender and a receiver that read each other's fingerprints from files, as from annotations, end with the
// same root. A seal of either side has the same root.
func TestMove(t *testing.T) {
	source, destination, dir := t.TempDir(), t.TempDir(), t.TempDir()
	to := treetest.In(t, source)
	to.File("a/file", []byte("content"))
	to.File("large", treetest.Bytes(1, 1<<20))
	keys := introduced(t, source, dir)
	one, two := passed(t, keys, []string{"--root", source}, []string{"--root", destination})
	if one.Root == "" || one.Root != two.Root || two.Root != two.PeerRoot || two.Result != report.Equal || two.Files != 2 || two.Bytes != 1<<20+7 {
		t.Errorf("%+v\n%+v", one, two)
	}
	treetest.Same(t, source, destination)
	locates(t, source, one.Root)
	for _, root := range []string{source, destination} {
		if r := sealed(t, root); r.Root != one.Root {
			t.Errorf("%+v", r)
		}
	}
}

// TestLater: with Later a warm pass and a last pass report what the receiver alone has read. The seal of the source has
// its root.
func TestLater(t *testing.T) {
	source, destination, dir := t.TempDir(), t.TempDir(), t.TempDir()
	to := treetest.In(t, source)
	to.File("a/file", []byte("content"))
	to.File("large", treetest.Bytes(1, 3<<20))
	keys := introduced(t, source, dir)
	from, later := []string{"--root", source, "--copy", "web-0-1"}, []string{"--root", destination, "--verify", "Later", "--copy", "web-0-1"}
	_, warm := passed(t, keys, from, append(later, "--pass", passWarm))
	if warm.Root != "" || warm.Known < 3<<20 || warm.Result != report.Copied {
		t.Errorf("after a warm pass: %+v", warm)
	}
	to.File("b", []byte("more"))
	_, last := passed(t, keys, from, later)
	if last.Root == "" || last.PeerRoot != "" || last.Read >= 3<<20 || last.Trusted < 3<<20 {
		t.Errorf("after the last pass: %+v", last)
	}
	treetest.Same(t, source, destination)
	if r := sealed(t, source); r.Root != last.Root {
		t.Errorf("the source has the root %s, and the copy %s", r.Root, last.Root)
	}
}

// introduced creates the keys of a sender and of a receiver, and gives each the fingerprint of the other. The first start
// of a mover creates its key and prints the fingerprint; the peer is not there yet.
func introduced(t *testing.T, source, dir string) []string {
	t.Helper()
	keys := []string{dir + "/sender", dir + "/receiver"}
	for i, key := range keys {
		var out, log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		code := run(ctx, []string{"send", "--root", source, "--connect", "127.0.0.1:1", "--identity", key, "--peer-file", dir + "/none", "--termination-log", dir + "/log"}, noEnv, streams{&out, &log})
		if r := result(t, out.Bytes(), dir+"/log"); code != exitFailed || !strings.HasPrefix(r.Fingerprint, "sha256:") {
			t.Fatalf("code %d, %+v", code, r)
		} else if err := os.WriteFile(keys[1-i]+".peer", []byte(r.Fingerprint+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

// passed makes one pass, and returns the results of the sender and the receiver.
func passed(t *testing.T, keys, send, receive []string) (sent, received report.Result) {
	t.Helper()
	port, logs := loopback.AddressFor(t), t.TempDir()
	var out, log [2]bytes.Buffer
	start := func(i int, verb, way string, args []string) int {
		return run(t.Context(), append([]string{verb, way, port, "--identity", keys[i], "--peer-file", keys[i] + ".peer", "--termination-log", filepath.Join(logs, verb), "--patience", "1m"}, args...), noEnv, streams{&out[i], &log[i]})
	}
	codes := make(chan int, 1)
	go func() { codes <- start(0, "send", "--listen", send) }()
	if code := start(1, "receive", "--connect", receive); code != exitDone || <-codes != exitDone {
		t.Fatalf("code %d\n%s\n%s", code, log[1].String(), log[0].String())
	}
	return result(t, out[0].Bytes(), filepath.Join(logs, "send")), result(t, out[1].Bytes(), filepath.Join(logs, "receive"))
}

// sealed reads a tree whole.
func sealed(t *testing.T, root string) report.Result {
	t.Helper()
	var out, log bytes.Buffer
	message := filepath.Join(t.TempDir(), "seal")
	if code := run(t.Context(), []string{"seal", "--root", root, "--termination-log", message}, noEnv, streams{&out, &log}); code != exitDone {
		t.Fatal(log.String())
	}
	r := result(t, out.Bytes(), message)
	if r.Result != report.Sealed {
		t.Errorf("%+v", r)
	}
	return r
}

// locates checks that a seal with the tally of another tree names where the two differ, and keeps its own root.
func locates(t *testing.T, root, want string) {
	t.Helper()
	var tally tree.Tally
	other := t.TempDir()
	treetest.In(t, other).File("a/file", []byte("contents"))
	treetest.In(t, other).File("large", treetest.Bytes(1, 1<<20))
	opened, err := tree.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	if _, err := transfer.Seal(t.Context(), opened, opened.Sync, tree.ListOptions{Settled: true, Tally: &tally}); err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	message := filepath.Join(t.TempDir(), "log")
	code := run(t.Context(), []string{"seal", "--root", root, "--tally", tally.String(), "--termination-log", message}, noEnv, streams{&out, &log})
	if r := result(t, out.Bytes(), message); code != exitDone || r.Root != want || r.Result != report.Sealed || r.Differences == 0 || r.What == "" {
		t.Errorf("code %d, %+v\n%s", code, r, &log)
	}
}
