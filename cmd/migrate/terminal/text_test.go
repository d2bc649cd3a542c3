package terminal

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func TestClip(t *testing.T) {
	for text, want := range map[string]string{
		"short": "short", "exactly-ten": "exactly...", "0123456789": "0123456789", "ünïcödé-ünïcödé": "ünïcödé...",
	} {
		if got := Clip(text, 10); got != want {
			t.Errorf("clip(%q) = %q, want %q", text, got, want)
		}
	}
	if got := Clip("anything", 2); got != "an" {
		t.Errorf("clip to 2 = %q", got)
	}
}

func TestWrap(t *testing.T) {
	text := "waiting until pod shop/web-3 in cluster west is Ready"
	for width, want := range map[int][]string{
		0:  {text},
		25: {"waiting until pod", "shop/web-3 in cluster", "west is Ready"},
		80: {text},
	} {
		if diff := cmp.Diff(want, Wrap(text, width)); diff != "" {
			t.Errorf("wrap to %d (-want +got):\n%s", width, diff)
		}
	}
	long := "x https://a-very-long-address.example.com:6443/api/v1/namespaces"
	if diff := cmp.Diff([]string{"x", "https://a-very-long-address.example.com:6443/api/v1/namespaces"}, Wrap(long, 20)); diff != "" {
		t.Errorf("a word that is too long (-want +got):\n%s", diff)
	}
}
