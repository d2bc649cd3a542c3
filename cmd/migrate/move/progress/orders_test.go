package progress

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestV1Orders: a command is a word and Enter. A command that reverses the move is confirmed by the name, typed after
// the question. Text that was meant for another window has no effect.
func TestV1Orders(t *testing.T) {
	const foreign = "kubectl get pods -l app.kubernetes.io/managed-by=Helm\n"
	for name, tc := range map[string]struct {
		back bool
		// lines are typed one after the other, with time to read in between.
		lines []string
		want  []api.Mode
	}{
		"pause":                         {lines: []string{"pause\n"}, want: []api.Mode{api.ModePause}},
		"pause and resume":              {lines: []string{"pause\nresume\n"}, want: []api.Mode{api.ModePause, api.ModeRun}},
		"without Enter":                 {lines: []string{"pause"}},
		"rollback":                      {lines: []string{"rollback\n"}},
		"rollback, confirmed":           {lines: []string{"rollback\n", "web\n"}, want: []api.Mode{api.ModeRollback}},
		"rollback, another name":        {lines: []string{"rollback\n", "web2\n", "web\n"}},
		"rollback, confirmed by a key":  {lines: []string{"rollback\n", "y\n", "rollback\n", "r\n"}},
		"rollback, left":                {lines: []string{"rollback\n", "\n", "web\n"}},
		"rollback and the name at once": {lines: []string{"rollback\nweb\n"}},
		"at once, and once more":        {lines: []string{"rollback\nweb\n", "web\n"}},
		"the keys of before":            {lines: []string{"p", "r", "b", "y"}},
		"each with Enter":               {lines: []string{"p\n", "r\n", "b\n", "y\n"}},
		"foreign text":                  {lines: []string{foreign}},
		"foreign text, by lines":        {lines: []string{foreign, "y\n", "by\n", foreign}},
		"foreign text with an order":    {lines: []string{"kubectl pause\n", " pause\n", "pause it\n", "PAUSE\n"}},
		"resume in a rollback":          {back: true, lines: []string{"resume\n"}},
		"resume in it, confirmed":       {back: true, lines: []string{"resume\n", "web\n"}, want: []api.Mode{api.ModeRun}},
		"rollback in a rollback":        {back: true, lines: []string{"rollback\n"}, want: []api.Mode{api.ModeRollback}},
		"one r in a rollback":           {back: true, lines: []string{"r", "\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			var wrote []api.Mode
			state := inFlight()
			state.Back = tc.back
			m := send(t, model(&wrote, nil), state)
			for _, line := range tc.lines {
				m = send(t, later(m), typed(line)...)
			}
			if diff := cmp.Diff(tc.want, wrote); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestV1Pasted: text that the terminal marks as pasted starts and confirms nothing, and does not become part of the
// line.
func TestV1Pasted(t *testing.T) {
	var wrote []api.Mode
	m := send(t, model(&wrote, nil), inFlight(), tea.PasteMsg{Content: "pause\n"})
	m = send(t, m, append(typed("pau"), tea.PasteMsg{Content: "se"})...)
	m = send(t, m, typed("\n")...)
	m = send(t, m, append(typed("pause"), tea.PasteMsg{Content: "\n"})...)
	m = send(t, m, typed("\n")...)
	m = send(t, later(send(t, m, typed("rollback\n")...)), tea.PasteMsg{Content: "web\n"})
	m = send(t, later(m), typed("\n")...)
	m = send(t, later(send(t, m, typed("rollback\n")...)), tea.PasteMsg{Content: "x"})
	m = send(t, later(m), typed("web\n")...)
	if wrote != nil {
		t.Errorf("it has written %v", wrote)
	}
	if m = send(t, later(m), typed("rollbackk")...); m.orders.line != "rollbackk" {
		t.Fatalf("the line is %q", m.orders.line)
	}
	m = send(t, m, tea.KeyPressMsg{Code: tea.KeyBackspace})
	if m = send(t, m, typed("\n")...); m.orders.asks != api.ModeRollback {
		t.Errorf("corrected, it asks for %q", m.orders.asks)
	}
	if m = send(t, later(m), tea.KeyPressMsg{Code: tea.KeyEscape}); m.orders.asks != "" {
		t.Error("Escape does not end the question")
	}
}

// TestV1ReadOnly: in a read-only display, as in "status -w", text has no effect, and ^C ends it.
func TestV1ReadOnly(t *testing.T) {
	var wrote []api.Mode
	m := model(&wrote, nil)
	m.orders = orders{}
	m = send(t, m, append([]tea.Msg{inFlight(), tea.PasteMsg{Content: "q"}}, typed("pq\nrollback\nweb\npause\n")...)...)
	if shown := m.View().Content; m.over || strings.Contains(shown, "rollback") || !strings.Contains(shown, "^C leave") {
		t.Errorf("it shows:\n%s", shown)
	}
	if m = send(t, m, tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}); !m.interrupted || !m.over {
		t.Errorf("^C does not end it: %+v", m)
	}
}

// TestV2Queue: commands are written one after the other, and only the last of several waiting ones, so that the last
// command takes effect.
func TestV2Queue(t *testing.T) {
	var wrote []api.Mode
	m := send(t, model(&wrote, errors.New("conflict")), inFlight())
	var started []tea.Cmd
	enter := func(text string) {
		for _, key := range typed(text) {
			next, command := later(m).Update(key)
			if m = next.(liveModel); command != nil { //nolint:forcetypeassert // it is its own
				started = append(started, command)
			}
		}
	}
	enter("pause\n")
	enter("resume\n")
	enter("rollback\n")
	m = later(m)
	enter("web\n")
	if len(started) != 1 || len(wrote) != 0 || m.orders.unwritten() != api.ModeRollback {
		t.Fatalf("%d are being written, wrote %v, %q is left", len(started), wrote, m.orders.unwritten())
	}
	m = send(t, m, started[0]())
	if diff := cmp.Diff([]api.Mode{api.ModePause, api.ModeRollback}, wrote); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if shown := m.View().Content; !strings.Contains(shown, "mode Rollback is not written: conflict") || m.orders.unwritten() != "" {
		t.Errorf("it shows:\n%s", shown)
	}
}
