package journal

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// write returns a journal: each step is written by the pod of that uid.
func write(pod string, steps ...string) string {
	record := First(pod, begin)
	lines := []string{record.String()}
	for i, step := range steps {
		uid, note, _ := strings.Cut(step, " ")
		record = record.Next(Note(note), Writer{Pod: pod, UID: uid, Node: "node-" + uid}, begin.Add(time.Duration(i+1)*time.Second))
		lines = append(lines, record.String())
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestRead(t *testing.T) {
	whole := write("web-0", "a start", "a tick", "a stop", "b start", "b tick")
	lines := strings.SplitAfter(whole, "\n")
	for name, tc := range map[string]struct {
		content, want string
	}{
		"whole":                {whole, ""},
		"only seeded":          {write("web-0"), ""},
		"empty":                {"", "not the volume of web-0"},
		"of another pod":       {write("web-1", "a start"), "of pod web-1"},
		"a line is lost":       {strings.Join(append(lines[:2:2], lines[3:]...), ""), "it has the number 3"},
		"the end is lost":      {strings.Join(lines[:3], ""), ""}, // a file cannot show that: the next writer's node can
		"torn":                 {strings.TrimSuffix(whole, "\n"), "torn"},
		"a byte is changed":    {strings.Replace(whole, "03:04:07Z", "03:04:08Z", 1), "checksum"},
		"ran twice":            {write("web-0", "a start", "b start", "a tick"), "ran twice"},
		"a container restarts": {write("web-0", "a start", "a tick", "a start"), ""},
		"seeded again":         {write("web-0", "a start", "a seed"), "not expected"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(tc.content, "web-0")
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestRuns(t *testing.T) {
	j, err := Read(write("web-0", "a start", "a tick", "a stop", "b start"), "web-0")
	if err != nil {
		t.Fatal(err)
	}
	want := []Run{
		{UID: "a", Node: "node-a", First: begin.Add(time.Second), Last: begin.Add(3 * time.Second), Lines: 3, Notes: []Note{Start, Stop}},
		{UID: "b", Node: "node-b", First: begin.Add(4 * time.Second), Last: begin.Add(4 * time.Second), Lines: 1, Notes: []Note{Start}},
	}
	if diff := cmp.Diff(want, j.Runs); diff != "" {
		t.Error(diff)
	}
}
