package journal

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Run holds the lines of one pod.
type Run struct {
	UID, Node   string
	First, Last time.Time
	Lines       int
	// Notes are its notes other than ticks, in order.
	Notes []Note
}

// Journal is a complete journal.
type Journal struct {
	Pod  string
	Last Record
	Runs []Run
}

// Read checks a journal from its first byte to its last. It must belong to this pod. No line may be missing, changed
// or torn, and no pod may have written again after another pod had begun.
func Read(content, pod string) (Journal, error) {
	j := Journal{Pod: pod}
	lines := strings.Split(content, "\n")
	if last := lines[len(lines)-1]; last != "" {
		return j, fmt.Errorf("the last line is torn: %q", last)
	}
	lines = lines[:len(lines)-1]
	if len(lines) == 0 {
		return j, fmt.Errorf("it is empty: this is not the volume of %s", pod)
	}
	for i, line := range lines {
		record, err := parse(line)
		if err == nil {
			err = j.add(i, record)
		}
		if err != nil {
			return j, fmt.Errorf("line %d: %w: %q", i, err, line)
		}
	}
	return j, nil
}

// add checks the next line.
func (j *Journal) add(number int, r Record) error {
	switch {
	case r.Number != number:
		return fmt.Errorf("it has the number %d", r.Number)
	case r.Pod != j.Pod:
		return fmt.Errorf("it is of pod %s, not of %s", r.Pod, j.Pod)
	case r.summed(j.Last.Sum).Sum != r.Sum:
		return errors.New("its checksum does not follow from the line before")
	case (r.Note == Seed) != (number == 0):
		return fmt.Errorf("a %s is not expected here", r.Note)
	}
	j.Last = r
	if r.Note == Seed {
		return nil
	}
	return j.addToRun(r)
}

func (j *Journal) addToRun(r Record) error {
	if last := len(j.Runs) - 1; last < 0 || j.Runs[last].UID != r.UID {
		for _, run := range j.Runs {
			if run.UID == r.UID {
				return fmt.Errorf("pod %s wrote again after pod %s had begun: the ordinal ran twice", r.UID, j.Runs[last].UID)
			}
		}
		j.Runs = append(j.Runs, Run{UID: r.UID, Node: r.Node, First: r.Time})
	}
	run := &j.Runs[len(j.Runs)-1]
	run.Last = r.Time
	run.Lines++
	if r.Note != Tick {
		run.Notes = append(run.Notes, r.Note)
	}
	return nil
}
