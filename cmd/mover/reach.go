package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sliceshift/sliceshift/mover/report"
)

// reachCommand is the command that tries to reach addresses.
const reachCommand = "reach"

func (s *settings) checkReach() error {
	switch {
	case len(s.addresses) == 0:
		return errors.New("give --address, at least once")
	case s.attempts <= 0 || s.within <= 0:
		return errors.New("--for and --within are times above 0, as 10s")
	}
	for _, address := range s.addresses {
		if !hasPort(address) {
			return fmt.Errorf("--address is a host and a port, as 10.0.0.1:443, not %q", address)
		}
	}
	return nil
}

// reach tries all addresses at once. An address that was reached once counts as reached, also if that was in the first
// moment of the pod only.
func (s *settings) reach(ctx context.Context, to streams) int {
	ctx, cancel := context.WithTimeout(ctx, s.attempts)
	defer cancel()
	reached := make([]bool, len(s.addresses))
	var trying sync.WaitGroup
	for i, address := range s.addresses {
		trying.Go(func() { reached[i] = s.connects(ctx, address) })
	}
	trying.Wait()
	result := report.Reach{Version: report.Version, Result: report.Tried}
	for i, address := range s.addresses {
		if reached[i] {
			result.Reached = append(result.Reached, address)
		} else {
			result.Unreached = append(result.Unreached, address)
		}
	}
	code := exitDone
	if cause := ctx.Err(); errors.Is(cause, context.Canceled) {
		result, code = report.Reach{Version: report.Version, Result: report.Failed, Message: "ended before its time"}, exitFailed
	}
	text, err := json.Marshal(result)
	if err != nil {
		fmt.Fprintf(to.log, "mover reach: %v\n", err)
		return exitFailed
	}
	s.say(text, to)
	return code
}

// pauseBetween is the time between two attempts.
const pauseBetween = 200 * time.Millisecond

// connects reports whether an address accepts a connection before the context ends.
func (s *settings) connects(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: s.within}
	for {
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			_ = connection.Close()
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pauseBetween):
		}
	}
}
