package view

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0s", 420 * time.Millisecond: "0.4s", 59*time.Second + 990*time.Millisecond: "59.9s",
		time.Minute: "1m00s", 125 * time.Second: "2m05s", time.Hour: "1h00m", 26*time.Hour + 5*time.Minute: "26h05m",
	} {
		if got := Duration(d); got != want {
			t.Errorf("duration(%v) = %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{1900 * time.Millisecond: "1s", 61 * time.Second: "1m01s"} {
		if got := Coarse(d); got != want {
			t.Errorf("coarse(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 8 << 20: "8.0 MiB", 3 << 30: "3.0 GiB", 1 << 40: "1.0 TiB", 1<<63 - 1: "8.0 EiB",
	} {
		if got := Size(bytes); got != want {
			t.Errorf("size(%d) = %q, want %q", bytes, got, want)
		}
	}
}

// TestCount: 1 takes the singular, every other number the plural.
func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 stops", 1: "1 stop", 2: "2 stops"} {
		if got := Count(n, "stop"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
