// Package steady is a client that works at a steady rate and records its operations. It is a separate module, which
// the programs of several demonstrations share. Each of those is a module with the client library of its database.
package steady

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Client is the configuration of a client.
type Client struct {
	// Out is the file that it writes, Name the name in its records.
	Out, Name string
	// Workers is the largest number of concurrent operations. Each worker starts one every Interval, with a limit of
	// Timeout.
	Workers           int
	Interval, Timeout time.Duration
}

// Program is a client with its commands: run works until a signal, and final writes the current values.
type Program struct {
	*Client
	// Usage names the flags.
	Usage string
	// Flags adds the flags of the program.
	Flags      func(*flag.FlagSet)
	Run, Final func(context.Context) error
}

// Main runs the command of this process's arguments, and exits with 1 if it fails.
func (p Program) Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := p.command(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func (p Program) command(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: client run|final " + p.Usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&p.Out, "out", "", "the file to write")
	flags.StringVar(&p.Name, "name", "client", "how what it does is signed")
	flags.IntVar(&p.Workers, "workers", 4, "how much is in flight at most")
	flags.DurationVar(&p.Interval, "interval", 40*time.Millisecond, "how often a worker begins")
	flags.DurationVar(&p.Timeout, "timeout", p.Timeout, "how long one thing may take")
	p.Flags(flags)
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "run":
		return p.Run(ctx)
	case "final":
		return p.Final(ctx)
	}
	return fmt.Errorf("%q is neither run nor final", args[0])
}

// Work lets the workers perform operations until ctx ends, and records each result, one a line. The end does not
// interrupt a running operation, which would leave its outcome unknown needlessly.
func (c Client) Work(ctx context.Context, do func(within context.Context, w Worker) any) error {
	file, err := os.OpenFile(c.Out, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open the record (a client never goes on with that of another): %w", err)
	}
	r := &recorder{file: file}
	var workers sync.WaitGroup
	for i := range c.Workers {
		workers.Go(func() { c.work(ctx, Worker{Number: i, Name: fmt.Sprintf("%s-%d", c.Name, i)}, do, r) })
	}
	workers.Wait()
	return errors.Join(r.err, file.Close())
}

// Worker identifies a worker and its current operation, the Nth.
type Worker struct {
	Number int
	Name   string
	N      int
}

func (c Client) work(ctx context.Context, w Worker, do func(context.Context, Worker) any, r *recorder) {
	tick := time.NewTicker(c.Interval)
	defer tick.Stop()
	for ; ; w.N++ {
		within, cancel := context.WithTimeout(context.Background(), c.Timeout)
		done := do(within, w)
		cancel()
		r.add(done)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// recorder writes one line for each operation.
type recorder struct {
	sync.Mutex
	file *os.File
	err  error
}

func (r *recorder) add(done any) {
	line, err := json.Marshal(done)
	r.Lock()
	defer r.Unlock()
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	r.err = errors.Join(r.err, err)
}

// Keep writes a value into the file in JSON, atomically.
func (c Client) Keep(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	partial := filepath.Join(filepath.Dir(c.Out), "."+filepath.Base(c.Out))
	if err := os.WriteFile(partial, text, 0o644); err != nil {
		return err
	}
	return os.Rename(partial, c.Out)
}
