package main

import (
	"slices"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/e2e/etcd/programs/history"
)

// step is the length of the intervals of the rate.
const step = 500 * time.Millisecond

// judge answers a question.
func judge(all []history.Operation, finals []history.Final, phases []Phase) Answer {
	slices.SortFunc(all, func(a, b history.Operation) int { return a.Start.Compare(b.Start) })
	answer := Answer{Operations: len(all), Begin: all[0].Start, Step: step.Seconds()}
	for _, op := range all {
		switch {
		case op.Kind == history.Read && op.Outcome != history.OK:
			answer.FailedReads++
		case op.Kind == history.Write && op.Outcome == history.OK:
			answer.Acknowledged++
		case op.Kind == history.Write:
			answer.Unknown++
			if isDone(op, finals) {
				answer.UnknownDone++
			}
		}
	}
	answer.Lost, answer.Strange = lost(all, finals), strange(all, finals)
	answer.Keys = linearizable(all, finals)
	answer.Rate = rate(all)
	for _, phase := range phases {
		answer.Phases = append(answer.Phases, measure(all, phase))
	}
	return answer
}

// isDone reports whether a write had its effect by the end: some member has its entry.
func isDone(write history.Operation, finals []history.Final) bool {
	return slices.ContainsFunc(finals, func(f history.Final) bool { return f.Keys[write.Entry] == write.Value })
}

// lost returns the acknowledged writes that some member does not have.
func lost(all []history.Operation, finals []history.Final) []string {
	missing := []string{}
	for _, op := range all {
		if op.Kind != history.Write || op.Outcome != history.OK {
			continue
		}
		for _, final := range finals {
			if final.Keys[op.Entry] != op.Value {
				missing = append(missing, op.Value+" on "+final.Endpoint)
			}
		}
	}
	return missing
}

// strange returns the final values that no client wrote to that key.
func strange(all []history.Operation, finals []history.Final) []string {
	type cell struct{ key, value string }
	written := map[cell]bool{}
	for _, op := range all {
		if op.Kind == history.Write {
			written[cell{op.Key, op.Value}], written[cell{op.Entry, op.Value}] = true, true
		}
	}
	found := []string{}
	for _, final := range finals {
		for key, value := range final.Keys {
			if !written[cell{key, value}] {
				found = append(found, key+"="+value+" on "+final.Endpoint)
			}
		}
	}
	slices.Sort(found)
	return found
}

// rate counts the acknowledged writes of each step.
func rate(all []history.Operation) []int {
	var counts []int
	for _, op := range all {
		if op.Kind != history.Write || op.Outcome != history.OK {
			continue
		}
		at := int(op.End.Sub(all[0].Start) / step)
		for len(counts) <= at {
			counts = append(counts, 0)
		}
		counts[at]++
	}
	return counts
}

// registers returns the keys that several clients write.
func registers(all []history.Operation) []string {
	var keys []string
	for _, op := range all {
		if strings.HasPrefix(op.Key, history.Registers) {
			keys = append(keys, op.Key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
