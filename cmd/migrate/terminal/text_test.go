package terminal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
