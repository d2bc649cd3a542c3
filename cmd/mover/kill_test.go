package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/internal/loopback"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/link"
)

// asMover is the environment variable that makes the test binary act as the mover.
const asMover = "SLICESHIFT_TEST_AS_MOVER"

func TestMain(m *testing.M) {
	if os.Getenv(asMover) != "" {
		main()
	}
	os.Exit(m.Run())
}

// TestKillReceiver: several receivers are killed (SIGKILL) at arbitrary moments, one after the other. The last one
// completes the copy.
func TestKillReceiver(t *testing.T) {
	source, destination, dir := t.TempDir(), t.TempDir(), t.TempDir()
	to := treetest.In(t, source)
	to.File("large", treetest.Bytes(1, 16<<20))
	for i := range 200 {
		to.File(fmt.Sprintf("d%d/f%d", i%7, i), treetest.Bytes(uint64(i), 5000))
	}
	var prints [2]link.Fingerprint
	for i, name := range []string{"sender", "receiver"} {
		identity, err := link.LoadIdentity(filepath.Join(dir, name))
		to.Must(err)
		prints[i] = identity.Fingerprint
	}
	port := loopback.AddressFor(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var log bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"send", "--root", source, "--listen", port, "--identity", dir + "/sender", "--peer", string(prints[1]), "--termination-log", dir + "/log", "--patience", "1m"}, noEnv, streams{&bytes.Buffer{}, &log})
	}()
	receive := func() *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0], "receive", "--root", destination, "--connect", port, "--identity", dir+"/receiver", "--peer", string(prints[0]), "--termination-log", dir+"/log2", "--patience", "1m")
		cmd.Env = append(os.Environ(), asMover+"=yes")
		cmd.Stderr = t.Output()
		return cmd
	}
	killed := 0
	for _, entries := range []int{1, 2, 4, 8} {
		cmd := receive()
		to.Must(cmd.Start())
		done := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(done)
		}()
		for gone := false; !gone; {
			select {
			case <-done:
				gone = true
			case <-time.After(time.Millisecond):
				if list, _ := os.ReadDir(destination); len(list) >= entries {
					to.Must(cmd.Process.Kill())
					<-done
					gone = true
					killed++
				}
			}
		}
	}
	if killed == 0 {
		t.Fatal("none was killed")
	}
	if cmd := receive(); cmd.Run() != nil {
		// If one of them had finished, the sender has ended, and there is no data left to request.
		select {
		case <-ended:
		default:
			t.Fatal("the last receiver failed")
		}
	}
	treetest.Same(t, source, destination)
}
