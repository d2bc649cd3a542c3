package ui

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// patience bounds each wait for a change on a page.
const patience = time.Minute

// process is a running ui command.
type process struct {
	*exec.Cmd
	address string
}

// built builds programs of this repository before the time limit of a move starts.
func built(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		harness.Program(t, name)
	}
}

// serve starts the command ui with a kubeconfig and interrupts it at the end of the test, as a user does.
func serve(t *testing.T, kubeconfig string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(harness.Program(t, "migrate"), append([]string{"ui", "--open=false", "--kubeconfig", kubeconfig}, args...)...)}
	p.Stderr = os.Stderr
	out, err := p.StdoutPipe()
	if err == nil {
		err = child.Start(p.Cmd)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Signal(syscall.SIGINT)
		if err := p.Wait(); err != nil {
			t.Errorf("interrupted, it ends with: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("it prints no address: %v", err)
	}
	p.address = strings.TrimSpace(line)
	return p
}

// tab is a page in a browser.
type tab struct {
	*testing.T
	ctx context.Context //nolint:containedctx // a page is one
}

// screen describes the screen that shows a page.
type screen struct {
	width, height int64
	scale         float64
	dark, print   bool
}

var (
	desk  = screen{width: 1160, height: 820, scale: 1}
	phone = screen{width: 360, height: 740, scale: 1}
)

// browse opens an address in a new browser.
func browse(t *testing.T, address string, on screen) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.WindowSize(int(desk.width), int(desk.height)))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses its sandbox to root
	}
	if strings.HasPrefix(address, "https://") {
		options = append(options, chromedp.Flag("ignore-certificate-errors", true)) // the manager's certificate is self-signed
	}
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	b := &tab{t, ctx}
	if err := chromedp.Do(ctx); err != nil { // the browser ends with the context that starts it
		t.Fatal(err)
	}
	b.on(on)
	b.do(chromedp.Navigate(address))
	return b
}

// on shows the page on a screen.
func (b *tab) on(s screen) {
	b.Helper()
	scheme, media := "light", "screen"
	if s.dark {
		scheme = "dark"
	}
	if s.print {
		media = "print"
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	const narrow = 600
	_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: s.width, Height: s.height, DeviceScaleFactor: s.scale, Mobile: s.width < narrow})
	if err == nil {
		_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media, Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
	}
	if err != nil {
		b.Fatal(err)
	}
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// run runs a script on the page.
func (b *tab) run(script string) {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](script))
}

// await waits until an expression is true on the page. It polls from outside, because polling within the page
// creates functions from strings, which the Content-Security-Policy refuses.
func (b *tab) await(expression string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
	})
	if err != nil {
		b.Fatalf("waiting for %s: %v; the page says:\n%s", expression, err, b.text("main"))
	}
}

// ask evaluates an expression on the page and returns its value.
func ask[T any](b *tab, expression string) T {
	b.Helper()
	return see(b, chromedp.Evaluate[T](expression))
}

// see runs an action and returns its result.
func see[T any](b *tab, action chromedp.Action[T]) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	got, err := chromedp.Run(ctx, action)
	if err != nil {
		b.Fatal(err)
	}
	return got
}

// text returns the text of an element.
func (b *tab) text(id string) string {
	b.Helper()
	return ask[string](b, `document.getElementById("`+id+`")?.innerText ?? ""`)
}

// says waits until an element contains a text.
func (b *tab) says(id, text string) {
	b.Helper()
	b.await(`document.getElementById("` + id + `")?.innerText.includes("` + text + `")`)
}

// press presses keys in sequence.
func (b *tab) press(keys ...string) {
	b.Helper()
	for _, key := range keys {
		b.do(chromedp.KeyEvent(key))
	}
}

// visit opens one of the views.
func (b *tab) visit(fragment string) {
	b.Helper()
	b.run(`location.hash = "` + fragment + `"`)
}

const enter = kb.Enter
