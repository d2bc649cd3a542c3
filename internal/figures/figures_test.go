package figures

import (
	"strings"
	"testing"
)

func TestPut(t *testing.T) {
	page := "a\n<!-- figures: written by make soak -->\nold\n<!-- end of figures -->\nb\n<!-- figures: written by make chaos -->\nkept\n<!-- end of figures -->\n"
	got, err := put(page, "soak", "new\n")
	if err != nil {
		t.Fatal(err)
	}
	begins := "a\n<!-- figures: written by make soak -->\nnew\n\nMeasured at commit "
	if !strings.HasPrefix(got, begins) || !strings.HasSuffix(got, "<!-- end of figures -->\nb\n<!-- figures: written by make chaos -->\nkept\n<!-- end of figures -->\n") {
		t.Errorf("got %s", got)
	}
	if _, err := put(page, "swing", "new"); err == nil {
		t.Error("a page without a place for them was taken")
	}
}
