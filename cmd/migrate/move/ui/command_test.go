package ui

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/ui/board"
)

func console(args ...string) *commandtest.Console {
	return commandtest.New(func(c *command.Common) []*cobra.Command { return []*cobra.Command{New(c)} }, args...)
}

// TestCommandLine: invalid options are rejected before anything is served.
func TestCommandLine(t *testing.T) {
	kubeconfig := apitest.SilentKubeconfig(t, "east")
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a name":                {[]string{"web"}, "takes no arguments"},
		"no port":               {[]string{"--port", "65536"}, "--port 65536 is not a port"},
		"below all ports":       {[]string{"--port", "-1"}, "--port -1 is not a port"},
		"one and all":           {[]string{"-A", "-n", "shop"}, "exclude each other"},
		"a nameless namespace":  {[]string{"-n", "shop,"}, "one of them has no name"},
		"a namespace and blank": {[]string{"-n", ",shop"}, "one of them has no name"},
	} {
		t.Run(name, func(t *testing.T) {
			console(append([]string{"ui", "--kubeconfig", kubeconfig}, tc.args...)...).Expect(t, command.ExitUsage, "", tc.want)
		})
	}
}

// TestServes: the command prints one line with the address, and serves the page there to this machine only. It ends
// without an error when it is interrupted, whether or not the cluster answers.
func TestServes(t *testing.T) {
	c := console("ui", "--kubeconfig", apitest.SilentKubeconfig(t, "east"))
	out, in := io.Pipe()
	c.Out = in
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- c.Execute(ctx) }()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	page, token, found := strings.Cut(strings.TrimSpace(address), "#token=")
	if !found || token == "" || !strings.HasPrefix(page, "http://127.0.0.1:") {
		t.Fatalf("the address is %s", address)
	}
	answer, err := http.Get(page) //nolint:noctx // the test has nothing to cancel it by
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(text), "<title>Moves</title>") {
		t.Errorf("it serves %s: %v", text, err)
	}
	_ = answer.Body.Close()
	interrupt()
	if code := <-ended; code != command.ExitDone {
		t.Errorf("it ends with %d: %s", code, c.Stderr)
	}
}

// TestTell: in interactive use a browser is opened, unless it is disabled. If no browser can be opened, a message says
// so.
func TestTell(t *testing.T) {
	for name, tc := range map[string]struct {
		open, interactive bool
		err               error
		opened            int
		said              string
	}{
		"a terminal":   {true, true, nil, 1, "Anyone with this address"},
		"a pipe":       {true, false, nil, 0, "namespace shop, store"},
		"not wanted":   {false, true, nil, 0, "cluster east"},
		"no browser":   {true, true, errors.New("none"), 1, "open the address in one"},
		"not even one": {true, true, errors.New("xdg-open is not there"), 1, "xdg-open is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			c := console()
			c.Interactive = func() bool { return tc.interactive }
			opened := 0
			o := &options{
				Common: command.NewCommon(c.Environment), open: tc.open, namespaces: []string{"shop", "store"}, connection: movetest.Offline(t, "east"),
				launch: func(_ context.Context, page string) error {
					opened++
					expectPrivate(t, page, "http://127.0.0.1:1/#token=x")
					return tc.err
				},
			}
			o.tell(t.Context(), "http://127.0.0.1:1/#token=x")()
			if opened != tc.opened || c.Stdout.String() != "http://127.0.0.1:1/#token=x\n" || !strings.Contains(c.Stderr.String(), tc.said) {
				t.Errorf("%d were opened; it says %q and %q", opened, c.Stdout, c.Stderr)
			}
		})
	}
}

// expectPrivate checks the arguments of the browser: every user of the machine can read them, so they must not contain
// the token (K15).
func expectPrivate(t *testing.T, page, address string) {
	t.Helper()
	if strings.Contains(page, "token") {
		t.Errorf("a browser is started with %s", page)
	}
	text, err := os.ReadFile(page)
	info, second := os.Stat(page)
	if err != nil || second != nil || info.Mode().Perm() != 0o600 || !strings.Contains(string(text), `location.replace("`+address+`")`) {
		t.Errorf("it leads by %s: %v, %v", text, err, second)
	}
	t.Cleanup(func() {
		if _, err := os.Stat(page); err == nil {
			t.Errorf("%s is left", page)
		}
	})
}

// TestForecastRefused: if the plan cannot be computed from here, the error has a remedy, and no request is sent to a
// cluster.
func TestForecastRefused(t *testing.T) {
	remote := movetest.InFlight()
	remote.Spec.Source.KubeConfigSecretRef = &api.SecretKeyReference{Name: "east"}
	for want, m := range map[string]*api.Migration{
		"it is completed (Moved)":               movetest.Completed(),
		"migrate recover web -n shop --dry-run": movetest.InMode(api.ModeRecover),
		"start kubectl migrate preflight -f":    remote,
	} {
		o := &options{Common: command.NewCommon(console().Environment)}
		if _, err := o.forecast(t.Context(), board.Migration{Migration: m}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it says %v, want %s", err, want)
		}
	}
}
