package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/link"
	"github.com/sliceshift/sliceshift/mover/transfer"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// Passes of a receiver.
const (
	passWarm = "Warm"
	passLast = "Last"
)

// settings are the options of a mover.
type settings struct {
	command string
	flags   *pflag.FlagSet

	root, device          string
	listen, connect       string
	relay                 string
	peer, peerFile        string
	identity, empty       string
	copy, scratch         string
	termination, logLevel string
	pass, verify, compare string
	tally                 string
	bandwidth, readRate   string
	forget, devices       bool
	connections           int
	patience, progress    time.Duration
	size                  int64

	addresses        []string
	attempts, within time.Duration
}

// copyName matches the name of a copy, which is part of a file name.
var copyName = regexp.MustCompile(`^[A-Za-z0-9.-]{1,200}$`)

// defaultTermination is where the kubelet reads a container's termination message.
const defaultTermination = "/dev/termination-log"

func parse(command string, args []string, getenv func(string) string) (*settings, error) {
	s := &settings{command: command, flags: pflag.NewFlagSet("mover "+command, pflag.ContinueOnError)}
	s.flags.SetOutput(io.Discard)
	s.define()
	if err := s.flags.Parse(args); err != nil {
		return s, err
	}
	if rest := s.flags.Args(); len(rest) > 0 {
		return s, fmt.Errorf("%q is no flag; each has two dashes", rest[0])
	}
	if err := s.environment(getenv); err != nil {
		return s, err
	}
	return s, s.check()
}

func (s *settings) define() {
	f := s.flags
	f.StringVar(&s.termination, "termination-log", defaultTermination, "file for the result, too, if it exists")
	if s.command == keyCommand {
		f.StringVar(&s.identity, "identity", "", "the file for the key")
		f.StringVar(&s.empty, "empty", "", "a folder that must be empty, except for files of its file system; else no key is created")
		return
	}
	if s.command == reachCommand {
		f.StringArrayVar(&s.addresses, "address", nil, "an address to connect to, as 10.0.0.1:443 (repeatable)")
		f.DurationVar(&s.attempts, "for", 10*time.Second, "how long an address that is not reached is tried again")
		f.DurationVar(&s.within, "within", 2*time.Second, "how long one attempt may take")
		return
	}
	f.StringVar(&s.root, "root", "", "the folder whose tree is moved")
	f.StringVar(&s.device, "device", "", "the block device that is moved, in place of --root")
	f.StringVar(&s.logLevel, "log-level", "info", "debug or info")
	f.DurationVar(&s.progress, "progress", 10*time.Second, "interval between the lines that show the progress")
	if s.command == "seal" {
		f.Int64Var(&s.size, "size", 0, "how many bytes of the device are moved; 0 is all")
		f.StringVar(&s.tally, "tally", "", "the tally of the other side, as its last pass with Later says: where the two differ, the first part is named")
		return
	}
	f.StringVar(&s.listen, "listen", "", "the address to listen on, as :8722")
	f.StringVar(&s.connect, "connect", "", "the address of a peer that listens, as receiver.example:8722")
	f.StringVar(&s.peer, "peer", "", "the fingerprint of the peer's key, as its log says: sha256:...")
	f.StringVar(&s.peerFile, "peer-file", "", "a file that has the fingerprint, or will have it")
	f.StringVar(&s.identity, "identity", "", "a file for this mover's own key, created if it does not exist; without it the key ends with the process")
	f.StringVar(&s.copy, "copy", "", "the name of this copy, as web-0-1: the reads of its warm passes count for no other copy. For --verify Changed or Later of the receiver")
	f.DurationVar(&s.patience, "patience", 10*time.Minute, "give up after this time without progress")
	if s.command == "send" {
		f.StringVar(&s.relay, "relay", "", "the address to listen on for a relay, which carries each connection on to a receiver that listens, as localhost:8722; in place of --listen and --connect")
		f.StringVar(&s.scratch, "scratch", "", "a folder on a disk, outside of the volume, that lists the files already read, up to 200 bytes a file, while this mover runs. Without it all files are read")
		f.StringVar(&s.bandwidth, "bandwidth", "", "the most bytes a second that are sent, as 50Mi")
		f.StringVar(&s.readRate, "read-rate", "", "the most bytes a second that are read while the application runs, as 100Mi")
		f.BoolVar(&s.forget, "forget", false, "drop read data from the cache: the application needs the room. Without a --read-rate, measure at the end how fast a proof would read")
		return
	}
	f.StringVar(&s.pass, "pass", passLast, "Warm: the application runs, and changes are left to the next pass. Last: no process writes, and a change is an error")
	f.StringVar(&s.verify, "verify", string(transfer.VerifyFull), "Full: read every byte on the two sides again. Changed: skip files that have not changed since a warm pass with Changed has read them. Later: read back only the written parts, and keep the digests for the next pass; compare the root with that of a later seal of the source. None: compare nothing")
	f.StringVar(&s.compare, "compare", "Quick", "Quick: files of one size and time are equal. Content: compare blocks, after a seal that differed or a crash")
	f.BoolVar(&s.devices, "devices", false, "create device nodes as the sender has them. Without it a pass fails at them, and names them: they give a pod access to devices of its node")
	f.IntVar(&s.connections, "connections", 4, "how many connections carry content, from 1 to 32")
}

// environment sets options from MOVER_... variables, unless their flag is set.
func (s *settings) environment(getenv func(string) string) (err error) {
	s.flags.VisitAll(func(f *pflag.Flag) {
		name := "MOVER_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value := getenv(name)
		if value == "" || f.Changed || err != nil {
			return
		}
		if e := s.flags.Set(f.Name, value); e != nil {
			err = fmt.Errorf("%s: %w", name, e)
		}
	})
	return err
}

func (s *settings) check() error {
	if s.command == keyCommand {
		if s.identity == "" {
			return errors.New("give --identity, the file for the key; the mover that uses it reads the same one")
		}
		return nil
	}
	if s.command == reachCommand {
		return s.checkReach()
	}
	const mostConnections = 32
	checks := []struct {
		bad     bool
		message string
	}{
		{(s.root == "") == (s.device == ""), "give --root for a tree or --device for a block device, and not both"},
		{!slices.Contains([]string{"debug", "info"}, s.logLevel), fmt.Sprintf("--log-level is debug or info, not %q", s.logLevel)},
		{s.progress <= 0, "--progress is a time above 0, as 10s"},
		{s.size < 0, "--size is a number of bytes, or 0"},
	}
	for _, c := range checks {
		if c.bad {
			return errors.New(c.message)
		}
	}
	if s.command == "seal" {
		return s.checkTally()
	}
	if s.copy != "" && !copyName.MatchString(s.copy) {
		return fmt.Errorf("--copy is up to 200 letters, digits, dashes and dots, not %q", s.copy)
	}
	if s.command == "receive" {
		switch {
		case !slices.Contains([]string{"Full", "Changed", "Later", "None"}, s.verify):
			return fmt.Errorf("--verify is Full, Changed, Later or None, not %q", s.verify)
		case s.verify == "Changed" && s.copy == "":
			return errors.New("--verify Changed needs --copy, which tells this copy from others; give the sender the same, and --scratch")
		case !slices.Contains([]string{passWarm, passLast}, s.pass):
			return fmt.Errorf("--pass is Warm or Last, not %q", s.pass)
		case !slices.Contains([]string{"Quick", "Content"}, s.compare):
			return fmt.Errorf("--compare is Quick or Content, not %q", s.compare)
		case s.connections < 1 || s.connections > mostConnections:
			return fmt.Errorf("--connections is a number from 1 to %d, not %d", mostConnections, s.connections)
		}
	}
	return s.checkLink()
}

func (s *settings) checkTally() error {
	if s.tally == "" {
		return nil
	}
	_, err := tree.ParseTally(s.tally)
	return err
}

func (s *settings) checkLink() error {
	ways := slices.DeleteFunc([]string{s.listen, s.connect, s.relay}, func(address string) bool { return address == "" })
	if len(ways) != 1 {
		return errors.New("give --listen on the side that can be reached and --connect on the other, and not both; where neither can be, --listen to the receiver, --relay to the sender, and a relay connects to both")
	}
	if address := ways[0]; !hasPort(address) {
		return fmt.Errorf("%q is no address: it is a host and a port, as receiver.example:8722, and to listen the port is enough, as :8722", address)
	}
	if (s.peer == "") == (s.peerFile == "") {
		return errors.New("give --peer, the fingerprint that the peer's log says, or --peer-file, and not both")
	}
	if s.peer != "" {
		if _, err := link.ParseFingerprint(s.peer); err != nil {
			return fmt.Errorf("--peer: %w", err)
		}
	}
	if s.patience <= 0 {
		return errors.New("--patience is a time above 0, as 10m")
	}
	for name, value := range map[string]string{"bandwidth": s.bandwidth, "read-rate": s.readRate} {
		if _, err := rate(value); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	return nil
}

func hasPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && port != ""
}

// rate parses a number of bytes per second; 0 means no limit.
func rate(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil || quantity.Value() <= 0 {
		return 0, fmt.Errorf("%q is no number of bytes a second: write 50Mi, or 100M", text)
	}
	return quantity.Value(), nil
}

func (s *settings) compareBy() differ.Compare {
	if s.compare == "Content" {
		return differ.Content
	}
	return differ.Quick
}

func (s *settings) logger(to io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{}
	if s.logLevel == "debug" {
		options.Level = slog.LevelDebug
	}
	return slog.New(slog.NewJSONHandler(to, options))
}

// terminate writes the result to the termination log.
func (s *settings) terminate(text []byte) error {
	file, err := os.OpenFile(s.termination, os.O_WRONLY|os.O_TRUNC, 0)
	if errors.Is(err, os.ErrNotExist) && s.termination == defaultTermination {
		return nil // not in a pod
	}
	if errors.Is(err, os.ErrNotExist) {
		return os.WriteFile(s.termination, text, 0o600)
	}
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// peerKey returns the peer's fingerprint, and waits until it is known.
func (s *settings) peerKey(ctx context.Context, log *slog.Logger) (link.Fingerprint, error) {
	if s.peer != "" {
		return link.ParseFingerprint(s.peer)
	}
	const pause = 200 * time.Millisecond // the kubelet updates a volume of annotations at any time
	tick := time.NewTicker(pause)
	defer tick.Stop()
	late := time.NewTimer(s.patience)
	defer late.Stop()
	for said := false; ; said = true {
		text, err := os.ReadFile(s.peerFile)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", usage{fmt.Errorf("--peer-file: %w", err)}
		}
		if strings.TrimSpace(string(text)) != "" {
			key, err := link.ParseFingerprint(string(text))
			if err != nil {
				return "", usage{fmt.Errorf("--peer-file %s: %w", s.peerFile, err)}
			}
			return key, nil
		}
		if !said {
			log.Info("waiting for the peer's fingerprint", "file", s.peerFile)
		}
		select {
		case <-tick.C:
		case <-late.C:
			return "", fmt.Errorf("no peer's fingerprint was written into %s within %s: check whether the migration continues", s.peerFile, s.patience)
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
