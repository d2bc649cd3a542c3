package portforward

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
)

// frame returns a data frame of a length.
func frame(length int) []byte {
	data := make([]byte, 8+length)
	binary.BigEndian.PutUint32(data, 3)
	binary.BigEndian.PutUint32(data[4:], uint32(length)) //nolint:gosec // of a test
	return data
}

// control returns a control frame of a type and length.
func control(kind uint32, length int) []byte {
	data := frame(length)
	binary.BigEndian.PutUint32(data, 1<<31|3<<16|kind)
	return data
}

// TestFramesOfKubelets: frames of a kubelet are passed on unchanged.
func TestFramesOfKubelets(t *testing.T) {
	t.Parallel()
	var sent []byte
	for _, f := range [][]byte{
		control(frameReply, 30), control(frameReply, 30), frame(1), frame(0), frame(maxFrame), control(framePing, 4),
		control(frameReset, 8), control(frameSet, 12), control(frameWindow, 8), frame(10), control(frameGoAway, 8),
	} {
		sent = append(sent, f...)
	}
	here, there := net.Pipe()
	go func() {
		_, _ = there.Write(sent)
		_ = there.Close()
	}()
	got, err := io.ReadAll(newFrames(here))
	if err != nil || string(got) != string(sent) {
		t.Errorf("got %d of %d bytes, %v", len(got), len(sent), err)
	}
}

// TestFramesOfOthers: a frame that no kubelet sends ends the connection, before any of it is kept.
func TestFramesOfOthers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sent []byte
		want string
	}{
		"more data than is copied at once": {frame(maxFrame + 1), "65537 bytes is longer than the 65536"},
		"all that a frame may have":        {frame(1<<24 - 1), "16777215 bytes"},
		"a long answer":                    {control(frameReply, maxControl+1), "1025 bytes is longer than the 1024"},
		"a stream of its own":              {control(1, 20), "type 1"},
		"headers":                          {control(8, 20), "type 8"},
		"one answer more":                  {append(append(control(frameReply, 0), control(frameReply, 0)...), control(frameReply, 0)...), "more than 2 streams"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here, there := net.Pipe()
			written := make(chan int, 1)
			go func() {
				n, _ := there.Write(tc.sent)
				written <- n
			}()
			f := newFrames(here)
			_, err := io.Copy(io.Discard, f)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			<-f.refused
			if n := <-written; n > 24 {
				t.Errorf("%d bytes were read", n)
			}
			if _, again := f.Read(make([]byte, 1)); again == nil || !strings.Contains(again.Error(), tc.want) {
				t.Errorf("then: %v", again)
			}
		})
	}
}

// TestFramesAhead: data that the caller does not take is not read, until it is taken or the connection is closed.
func TestFramesAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const each = 32 << 10
		here, there := net.Pipe()
		defer there.Close()
		go func() {
			for {
				if _, err := there.Write(frame(each)); err != nil {
					return
				}
			}
		}()
		f := newFrames(here)
		read := 0
		ended := make(chan error)
		go func() {
			buffer := make([]byte, each)
			for {
				n, err := f.Read(buffer)
				if read += n; err != nil {
					ended <- err
					return
				}
			}
		}()
		synctest.Wait()
		held := read / (each + 8) * each
		if held <= maxAhead || held > maxAhead+maxFrame {
			t.Errorf("%d bytes are held", held)
		}
		before := read
		f.took(each)
		synctest.Wait()
		if got := read - before; got != each+8 {
			t.Errorf("%d bytes were taken, and %d came after them", each, got)
		}
		_ = f.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	})
}
