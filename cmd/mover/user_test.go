package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sliceshift/sliceshift/internal/loopback"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/link"
)

// ordinary is the ID of a user and a group without privileges.
const ordinary = 1234

// TestOrdinaryUser: movers that are not root copy files of their user, and fail at the first file of another user,
// whether or not they may read it.
func TestOrdinaryUser(t *testing.T) {
	treetest.NeedRoot(t)
	const file = "a/file"
	ofRoot := func(path string) error { return os.Chown(path, 0, 0) }
	for name, tc := range map[string]struct {
		change func(path string) error
		want   string
	}{
		"M-034: all files are its own":                 {func(string) error { return nil }, ""},
		"M-034, M-085: one is root's, and may be read": {ofRoot, "operation not permitted"},
		"M-034, M-085: one is root's, and may not":     {func(path string) error { return errors.Join(ofRoot(path), os.Chmod(path, 0o600)) }, "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newOrdinary(t)
			p.to.Must(tc.change(p.to.Root + "/" + file))
			log, err := p.run()
			if tc.want == "" {
				if err != nil {
					t.Fatalf("%v\n%s", err, log)
				}
				treetest.Same(t, p.to.Root, p.destination)
				return
			}
			if err == nil || !strings.Contains(log, file) || !strings.Contains(log, tc.want) {
				t.Errorf("got %v, want %q of %s:\n%s", err, tc.want, file, log)
			}
		})
	}
}

// ordinaries is a sender and a receiver that run as the ordinary user, with folders of that user.
type ordinaries struct {
	to          treetest.Tree // the source
	destination string
	ctx         context.Context //nolint:containedctx // of a test
	// end ends both.
	end              context.CancelFunc
	sender, receiver *exec.Cmd
}

func newOrdinary(t *testing.T) *ordinaries {
	t.Helper()
	dir := t.TempDir()
	p := &ordinaries{to: treetest.In(t, dir+"/source"), destination: dir + "/destination"}
	p.to.Must(os.Mkdir(p.destination, 0o755))
	p.to.File("a/file", []byte("content"))
	p.to.File("large", treetest.Bytes(1, 1<<20))
	var prints [2]string
	for i, name := range []string{"sender", "receiver"} {
		identity, err := link.LoadIdentity(filepath.Join(dir, name))
		p.to.Must(err)
		prints[i] = string(identity.Fingerprint)
	}
	p.to.Must(filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, ordinary, ordinary))
	}))
	p.to.Must(os.Chmod(filepath.Dir(dir), 0o755))
	p.ctx, p.end = context.WithCancel(t.Context())
	t.Cleanup(p.end)
	port := loopback.AddressFor(t)
	p.sender = p.mover("send", "--root", p.to.Root, "--listen", port, "--identity", dir+"/sender", "--peer", prints[1], "--termination-log", dir+"/sent")
	p.receiver = p.mover("receive", "--root", p.destination, "--connect", port, "--identity", dir+"/receiver", "--peer", prints[0], "--termination-log", dir+"/received")
	return p
}

// mover returns a command that runs this binary as the mover. It uses /proc/self/exe, because the user may not be able
// to enter the folder of the binary.
func (p *ordinaries) mover(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.ctx, "/proc/self/exe", append(args, "--patience", "1m")...)
	cmd.Env = append(os.Environ(), asMover+"=yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	cmd.Dir = "/"
	return cmd
}

// run runs both movers, and returns their output and an error unless both succeed.
func (p *ordinaries) run() (string, error) {
	var sent, received bytes.Buffer
	p.sender.Stderr, p.receiver.Stderr = &sent, &received
	if err := p.sender.Start(); err != nil {
		return "", err
	}
	err := p.receiver.Run()
	if err != nil {
		p.end() // the sender would wait for another receiver
	}
	err = errors.Join(err, p.sender.Wait())
	return sent.String() + received.String(), err
}
