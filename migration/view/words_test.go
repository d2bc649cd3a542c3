package view

import (
	"strings"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/view/viewtest"
)

// TestWordsInPlace: the texts about a change of the storage in place name no destination, and call nothing moved.
func TestWordsInPlace(t *testing.T) {
	inPlace := func(m *api.Migration) *api.Migration {
		m.Spec.Storage = &api.StorageSpec{}
		return m
	}
	for name, tc := range map[string]struct {
		m    *api.Migration
		want string
	}{
		"begun":       {inPlace(viewtest.InFlight()), "changed"},
		"completed":   {inPlace(viewtest.Completed()), "changed: every ordinal runs on volumes of the new claim templates"},
		"rolled back": {inPlace(viewtest.RolledBack()), "rolled back: every ordinal runs on volumes of the former claim templates"},
	} {
		row := NewRow(tc.m, false)
		if line := row.Line(viewtest.Noon.Add(time.Minute)); !strings.Contains(line, tc.want) || strings.Contains(line, "moved") {
			t.Errorf("%s: %s", name, line)
		}
	}
	row := NewRow(inPlace(viewtest.Completed()), false)
	texts := []string{row.Now, row.StateText(), row.Words().EndText(api.ReasonMoved), row.Words().EndText(api.ReasonRolledBack)}
	for _, mode := range []api.Mode{api.ModeRun, api.ModePause, api.ModeRollback} {
		texts = append(texts, row.Words().ModeText(mode))
	}
	for _, text := range texts {
		if strings.Contains(text, "moved") || strings.Contains(text, "destination") || strings.Contains(text, "source") {
			t.Errorf("in place: %s", text)
		}
	}
	if got := (Row{}).Words().ModeText(""); got != "mode is now Run: going on to the destination" {
		t.Errorf("of a move: %s", got)
	}
}
