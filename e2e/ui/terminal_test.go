package ui

import (
	"cmp"
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

// term is a terminal for commands as a user types them, with a kubeconfig for both clusters.
type term struct {
	*harness.Move
	t *testing.T
	// dir holds the programs and the kubeconfig; name is the tmux server of the visible terminal.
	dir, name string
}

func newTerm(t *testing.T, v *harness.Move) *term {
	t.Helper()
	c := &term{Move: v, t: t, dir: t.TempDir()}
	v.Must(os.Symlink(harness.Program(t, "migrate"), filepath.Join(c.dir, "kubectl-migrate")))
	both := clientcmdapi.NewConfig()
	for name, cluster := range map[string]interface{ Kubeconfig() string }{"east": v.From, "west": v.To} {
		own, err := clientcmd.LoadFromFile(cluster.Kubeconfig())
		v.Must(err)
		current := own.Contexts[own.CurrentContext]
		both.Clusters[name], both.AuthInfos[name] = own.Clusters[current.Cluster], own.AuthInfos[current.AuthInfo]
		both.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	v.Must(clientcmd.WriteToFile(*both, filepath.Join(c.dir, "config")))
	return c
}

func (c *term) tmux(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "tmux", append([]string{"-L", c.name, "-f", "/dev/null"}, args...)...)
}

// types runs a command line in a new terminal of the given size. The terminal shows the line above the output.
func (c *term) types(columns, lines int, line string) {
	c.t.Helper()
	c.name = "sliceshift-" + rand.String(8)            // a server needs a while to exit, and would end a new session with it
	end := c.tmux(context.Background(), "kill-server") // the test's context has ended by then
	c.t.Cleanup(func() { _ = end.Run() })
	script := fmt.Sprintf("export KUBECONFIG=%s/config PATH=%s:$PATH; printf '\\033[1m$ %%s\\033[0m\\n' %q; %s; exec cat", c.dir, c.dir, line, strings.Replace(line, "kubectl migrate", "kubectl-migrate", 1))
	cmd := c.tmux(c.Ctx, "new-session", "-d", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(lines), script)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8")
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("tmux: %v: %s", err, out)
	}
}

// shows waits until the terminal shows the words, and returns its content with colours.
func (c *term) shows(words ...string) string {
	c.t.Helper()
	var coloured []byte
	err := wait.PollUntilContextTimeout(c.Ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		var err error
		if coloured, err = c.tmux(ctx, "capture-pane", "-e", "-p").Output(); err != nil {
			return false, err
		}
		plain := sgr.ReplaceAllString(string(coloured), "")
		for _, each := range words {
			if !strings.Contains(plain, each) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		c.t.Fatalf("waiting for %q: %v in:\n%s", words, err, coloured)
	}
	return strings.TrimRight(string(coloured), "\n ")
}

var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// looks maps an escape sequence of the terminal to CSS classes: one for the weight, one for the colour.
var looks = map[string][2]string{
	"": {" ", " "}, "0": {" ", " "}, "1": {"bold"}, "2": {"dim"}, "22": {" "}, "39": {"", " "}, "49": {},
	"31": {"", "red"}, "32": {"", "green"}, "33": {"", "yellow"}, "36": {"", "cyan"},
}

// page returns the content of a terminal as an HTML document.
func page(t *testing.T, text string) string {
	t.Helper()
	var body strings.Builder
	var look [2]string
	for at := 0; at < len(text); {
		next := sgr.FindStringSubmatchIndex(text[at:])
		if next == nil {
			next = []int{len(text) - at, len(text) - at, len(text) - at, len(text) - at}
		}
		if part := text[at : at+next[0]]; part != "" {
			fmt.Fprintf(&body, `<span class="%s %s">%s</span>`, look[0], look[1], html.EscapeString(part))
		}
		for code := range strings.SplitSeq(text[at+next[2]:at+next[3]], ";") {
			told, known := looks[code]
			if !known {
				t.Errorf("nobody knows how %q looks", code)
			}
			look = [2]string{cmp.Or(told[0], look[0]), cmp.Or(told[1], look[1])}
		}
		at += next[1]
	}
	const style = `body{margin:0;background:#fff}pre{display:inline-block;margin:0;padding:14px 18px;background:#16191d;color:#d7dce2;font:13px/1.35 "DejaVu Sans Mono",monospace}` +
		`.bold{font-weight:700;color:#fff}.dim{color:#8f99a3}.red{color:#ff8f80}.green{color:#6fd6a0}.yellow{color:#f0c351}.cyan{color:#79d4e4}`
	return `<!DOCTYPE html><meta charset="utf-8"><style>` + style + `</style><pre id="main">` + body.String() + `</pre>`
}

// shoot writes the content of a terminal as an image.
func (c *term) shoot(b *tab, folder, name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name+".html")
	c.Must(os.WriteFile(path, []byte(page(c.t, text)), 0o600))
	b.do(chromedp.Navigate("file://" + path))
	size := ask[[]int64](b, `[Math.ceil(document.getElementById("main").getBoundingClientRect().width), Math.ceil(document.getElementById("main").getBoundingClientRect().height)]`)
	b.on(screen{width: size[0], height: size[1], scale: 1})
	keep(c.t, folder, name+".png", see(b, chromedp.CaptureScreenshot()))
	b.on(desk)
}

// store moves the application in a namespace with a realistic name.
func store(v *harness.Move) {
	v.App.Namespace, v.ToNamespace, v.Migration.Namespace = "store", "store", "store"
}

// TestTerminal takes the documentation's images of the terminal: a plan, a move under way, and a stalled move.
// It also takes one of the report in a browser. -screenshots sets the folder for them.
func TestTerminal(t *testing.T) {
	folder := *screenshots
	if folder == "" {
		folder = t.TempDir()
	}
	built(t, "migrate")
	v := harness.NewMove(t, harness.Usual(5), harness.AcrossClusters, store)
	c := newTerm(t, v)
	b := browse(t, "about:blank", desk)
	const line = "web -n store --context east --to-context west --create-namespace --shared data"

	c.types(120, 50, "kubectl migrate plan "+line)
	c.shoot(b, folder, "terminal-plan", c.shows("budget", "release StatefulSet web on the source"))

	finalize(v, "web-3", "example.com/backup")
	c.types(128, 46, "kubectl migrate run "+line+" --min-ready 8s --deadline 5s")
	c.shoot(b, folder, "terminal-moving", c.shows("ordinal 4", "has been Ready for", "pause, resume, rollback: a word and Enter"))
	c.shoot(b, folder, "terminal-stalled", c.shows("what to do", "web-3", "STALLED"))
	finalize(v, "web-3")
	c.shows("every ordinal that was asked for runs at the destination", "never seen fewer than 4 of 5 replicas available")
	v.ExpectMoved()

	report := filepath.Join(c.dir, "report.html")
	c.types(120, 5, "kubectl migrate report web -n store --context east -o html > "+report+"; echo wri''tten") // the echoed command line must not contain the word that is awaited
	c.shows("written")
	b.do(chromedp.Navigate("file://" + report))
	short := desk
	short.height = 730 // the part below names the machine that drove the move
	b.on(short)
	keep(t, folder, "report.png", see(b, chromedp.CaptureScreenshot()))
	v.Audit()
}

// finalize sets the finalizers of a source pod. A pod with a finalizer remains Terminating.
func finalize(v *harness.Move, pod string, finalizers ...string) {
	data := `{"metadata":{"finalizers":null}}`
	if len(finalizers) > 0 {
		data = `{"metadata":{"finalizers":["` + strings.Join(finalizers, `","`) + `"]}}`
	}
	_, err := v.Source.CoreV1().Pods(v.App.Namespace).Patch(v.Ctx, pod, types.MergePatchType, []byte(data), metav1.PatchOptions{})
	v.Must(err)
}
