package mover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/e2e/measure"
	"github.com/sliceshift/sliceshift/internal/loopback"
	"github.com/sliceshift/sliceshift/mover/link"
)

type bench struct {
	measure.Workshop
	mover, place string
	peak         *float64
}

// play lets each contender copy the files of a scene.
func (b *bench) play(ctx context.Context, s scene) error {
	source, before := filepath.Join(b.place, s.name, "source"), filepath.Join(b.place, s.name, "before")
	if err := errors.Join(os.MkdirAll(source, 0o755), os.MkdirAll(before, 0o755)); err != nil {
		return err
	}
	b.Say("%s: making the files", s.name)
	if err := s.prepare(source, before); err != nil {
		return err
	}
	contenders := []struct {
		name string
		copy func(ctx context.Context, source, destination string) error
		to   *float64
	}{
		{"floor", floor, &s.times.Floor},
		{"rsync", rsync, &s.times.Rsync},
		{"ours", func(ctx context.Context, source, destination string) error {
			verifying, err := b.ours(ctx, source, destination)
			s.times.Verifying = verifying
			return err
		}, &s.times.Ours},
	}
	for _, c := range contenders {
		destination := filepath.Join(b.place, s.name, c.name)
		if err := errors.Join(duplicate(before, destination), cool(source), cool(destination)); err != nil {
			return err
		}
		b.Say("%s: %s", s.name, c.name)
		begin := time.Now()
		if err := c.copy(ctx, source, destination); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if err := syncAll(destination); err != nil {
			return err
		}
		*c.to = time.Since(begin).Seconds()
		if s.many {
			continue // ext4 is slow to find an inode where many were deleted in the last minutes
		}
		if err := os.RemoveAll(destination); err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(b.place, s.name))
}

// ours runs a sender and a receiver, and returns how long they compared.
func (b *bench) ours(ctx context.Context, source, destination string) (verifying float64, err error) {
	var keys [2]string
	var prints [2]link.Fingerprint
	for i, name := range []string{"sender", "receiver"} {
		keys[i] = filepath.Join(b.place, name)
		identity, err := link.LoadIdentity(keys[i])
		if err != nil {
			return 0, err
		}
		prints[i] = identity.Fingerprint
	}
	address, err := loopback.Address()
	if err != nil {
		return 0, err
	}
	none := filepath.Join(b.place, "termination-log")
	send := exec.CommandContext(ctx, b.mover, "send", "--root", source, "--listen", address, "--identity", keys[0], "--peer", string(prints[1]), "--termination-log", none+"-sender")
	receive := exec.CommandContext(ctx, b.mover, "receive", "--root", destination, "--connect", address, "--identity", keys[1], "--peer", string(prints[0]), "--termination-log", none)
	ended := make(chan error, 1)
	go func() { ended <- b.watched(send) }()
	if err := errors.Join(b.watched(receive), <-ended); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(none)
	if err != nil {
		return 0, err
	}
	var result struct {
		Result    string  `json:"result"`
		Verifying float64 `json:"verifying"`
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return 0, err
	}
	if result.Result != "Equal" {
		return 0, fmt.Errorf("the mover ended with %s", text)
	}
	return result.Verifying, nil
}

// watched runs a mover and records its peak memory.
func (b *bench) watched(cmd *exec.Cmd) error {
	var complaints strings.Builder
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		return err
	}
	stop, stopped := make(chan struct{}), make(chan float64, 1)
	go func() {
		const often = 20 * time.Millisecond
		tick := time.NewTicker(often)
		defer tick.Stop()
		peak := 0.0
		for {
			select {
			case <-stop:
				stopped <- peak
				return
			case <-tick.C:
				if now, err := measure.PeakMiB(cmd.Process.Pid); err == nil {
					peak = max(peak, now)
				}
			}
		}
	}()
	err := cmd.Wait()
	close(stop)
	peak := <-stopped
	peaks.Lock()
	*b.peak = max(*b.peak, peak)
	peaks.Unlock()
	if err != nil {
		return fmt.Errorf("%w: %s", err, complaints.String())
	}
	return nil
}
