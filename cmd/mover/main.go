// Command mover copies a volume to another cluster and proves that the copy is equal. "send" serves the data on one
// side, "receive" requests it on the other, "seal" reads one side alone, and "key" creates the key by which the movers
// authenticate each other. "reach" tries to reach addresses, for a rehearsal that must be isolated.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/mover/transfer"
)

// Exit codes.
const (
	exitDone      = 0
	exitFailed    = 1 // a retry may help
	exitUsage     = 2
	exitDifferent = 3
	exitDiscard   = 4 // no retry helps: the destination must be discarded
)

// memory is the memory limit of the Go runtime. Kernel buffers come on top.
const memory = 88 << 20

// processors is the minimum of GOMAXPROCS. A thread that reads past the page cache occupies its processor until the
// runtime notices that it waits for the disk. With two processors the disk was idle most of the time.
const processors = 8

func main() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), processors))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, streams{os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// streams are the outputs of a mover.
type streams struct{ out, log io.Writer }

// usage is an error in the options of the mover.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

var commands = map[string]func(context.Context, *settings, streams) (report.Result, error){
	"send": send, "receive": receive, "seal": seal,
}

const help = `mover send|receive|seal|key|reach [flags]

  send     answer a receiver with the content of --root or --device
  receive  make --root or --device equal to a sender's
  seal     read --root or --device and print the root of its digests
  key      create the key --identity, if it does not exist, and print its fingerprint
  reach    try to connect to each --address, and print which ones accept a connection

Each flag has a variable: --peer-file is MOVER_PEER_FILE.

`

func run(ctx context.Context, args []string, getenv func(string) string, to streams) int {
	if len(args) == 0 || commands[args[0]] == nil && args[0] != keyCommand && args[0] != reachCommand {
		if len(args) > 0 && (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
			fmt.Fprint(to.out, help)
			return exitDone
		}
		fmt.Fprint(to.log, help)
		fmt.Fprintf(to.log, "mover: %s\n", named(args))
		return exitUsage
	}
	s, err := parse(args[0], args[1:], getenv)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprint(to.out, help+s.flags.FlagUsages())
		return exitDone
	}
	if err != nil {
		fmt.Fprintf(to.log, "mover %s: %v\n", args[0], err)
		return exitUsage
	}
	switch args[0] {
	case keyCommand:
		return s.key(to)
	case reachCommand:
		return s.reach(ctx, to)
	}
	result, err := commands[args[0]](ctx, s, to)
	code := finish(&result, err)
	s.say(result.JSON(report.Most), to)
	if err != nil {
		fmt.Fprintf(to.log, "mover %s: %v\n", args[0], err)
	}
	return code
}

// say writes the final message of a mover to its output and to the termination log.
func (s *settings) say(text []byte, to streams) {
	fmt.Fprintf(to.out, "%s\n", text)
	if err := s.terminate(text); err != nil {
		fmt.Fprintf(to.log, "mover %s: the termination message was not written: %v\n", s.command, err)
	}
}

func named(args []string) string {
	if len(args) == 0 {
		return "give a command: send, receive, seal, key or reach"
	}
	return fmt.Sprintf("%q is none of send, receive, seal, key and reach", args[0])
}

// finish sets the error in the result, and returns the exit code.
func finish(result *report.Result, err error) int {
	result.Version = report.Version
	if err != nil {
		result.Message = err.Error()
	}
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, new(usage)):
		result.Result = report.Failed
		return exitUsage
	case errors.Is(err, transfer.ErrDifferent):
		result.Result = report.Different
		return exitDifferent
	case errors.Is(err, transfer.ErrDiscard):
		result.Result = report.Discard
		return exitDiscard
	default:
		result.Result = report.Failed
		return exitFailed
	}
}
