package ui

import (
	"bytes"
	_ "embed"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/staged"
)

var screenshots = flag.String("screenshots", "", "write the images of the documentation into this `FOLDER`")

var pictures = flag.String("pictures", "", "write an image of each tested screen of an Evacuation into this `FOLDER`")

// accessible is a script that returns the accessibility errors of a page.
//
//go:embed accessible.js
var accessible string

// views lists the views of the page, each with a text that it contains once it is loaded.
var views = []struct{ name, fragment, id, says string }{
	{"list", "#/", "list", "stalled"},
	{"moving", "#/migration/%/web", "handoff", "is in flight"},
	{"stalled", "#/migration/%/orders", "hold", "What to do"},
	{"report", "#/migration/%/web/report", "document", "Processes"},
	{"plan", "#/migration/%/ledger/plan", "document", "another cluster"},
	{"ahead", "#/migration/%/stock", "ahead", "What to do"},
}

// fill creates Migrations in all states.
func (s *shop) fill() { s.keep(staged.Pictured(s.T, time.Now())...) }

func (b *tab) show(namespace string, i int) {
	b.Helper()
	v := views[i]
	b.visit(string(bytes.ReplaceAll([]byte(v.fragment), []byte("%"), []byte(namespace))))
	b.says(v.id, v.says)
}

// TestAccessible: on a desktop and on a phone, light and dark, each view has names, headings and contrast.
// Nothing is wider than the screen, and the Content-Security-Policy refused nothing.
func TestAccessible(t *testing.T) {
	shop := newShop(t)
	shop.fill()
	b := browse(t, serve(t, harness.East().Kubeconfig(), "-n", shop.namespace).address, desk)
	b.run(`globalThis.refused = []; addEventListener("securitypolicyviolation", (e) => refused.push(e.violatedDirective + " " + e.blockedURI))`)
	for name, on := range map[string]screen{"desk": desk, "desk, dark": {width: desk.width, height: desk.height, scale: 1, dark: true}, "phone": phone, "phone, dark": {width: phone.width, height: phone.height, scale: 1, dark: true}} {
		b.on(on)
		for i, v := range views {
			b.show(shop.namespace, i)
			for _, wrong := range ask[[]string](b, accessible) {
				t.Errorf("%s, %s: %s", name, v.name, wrong)
			}
			if wide := ask[int64](b, "document.documentElement.scrollWidth"); wide > on.width {
				t.Errorf("%s, %s: it is %d wide", name, v.name, wide)
			}
		}
	}
	b.press("?")
	b.await(`document.getElementById("dialog").open`)
	for _, wrong := range ask[[]string](b, accessible) {
		t.Errorf("the keys: %s", wrong)
	}
	if refused := ask[[]string](b, "refused"); len(refused) > 0 {
		t.Errorf("the policy has refused %v", refused)
	}
}

// TestScreenshots takes the documentation's images of the page. -screenshots sets the folder for them.
func TestScreenshots(t *testing.T) {
	folder := *screenshots
	if folder == "" {
		folder = t.TempDir()
	}
	shop := shopNamed(t, "shop")
	shop.fill()
	b := browse(t, serve(t, harness.East().Kubeconfig(), "-n", shop.namespace).address, desk)
	dark := desk
	dark.dark = true
	small := phone
	small.scale = 1.5
	tall := desk
	tall.height = 1120
	for _, shot := range []struct {
		file string
		view int
		on   screen
	}{
		{"ui-list.png", 0, desk},
		{"ui-list-dark.png", 0, dark},
		{"ui-moving.png", 1, tall},
		{"ui-stalled.png", 2, desk},
		{"ui-report.png", 3, tall},
		{"ui-report-dark.png", 3, dark},
		{"ui-phone.png", 1, small},
	} {
		b.on(shot.on)
		b.show(shop.namespace, shot.view)
		b.run(`document.activeElement?.blur()`)
		keep(t, folder, shot.file, see(b, chromedp.CaptureScreenshot()))
	}
}

// keep writes an image of the documentation, and fails if the image is too large.
func keep(t *testing.T, folder, name string, shot []byte) {
	t.Helper()
	data := smaller(t, shot)
	const most = 150_000
	if len(data) == 0 || len(data) > most {
		t.Errorf("%s has %d bytes", name, len(data))
	}
	if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// smaller returns an image with at most 256 colours: the most frequent colours of the given image.
func smaller(t *testing.T, data []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	count := map[color.Color]int{}
	for y := full.Bounds().Min.Y; y < full.Bounds().Max.Y; y++ {
		for x := full.Bounds().Min.X; x < full.Bounds().Max.X; x++ {
			count[full.At(x, y)]++
		}
	}
	palette := mostOf(count)
	few := image.NewPaletted(full.Bounds(), palette)
	draw.Draw(few, few.Bounds(), full, full.Bounds().Min, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func mostOf(count map[color.Color]int) color.Palette {
	const most = 256
	palette := make(color.Palette, 0, len(count))
	for c := range count {
		palette = append(palette, c)
	}
	slices.SortFunc(palette, func(a, b color.Color) int { return count[b] - count[a] })
	return palette[:min(most, len(palette))]
}
