package stage

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sliceshift/sliceshift/e2e/steady"
)

// Answer is the verdict on the records of the clients, with its figures.
type Answer struct {
	Operations int
	// Acknowledged counts the acknowledged writes, Unknown those of unknown outcome; UnknownDone of the latter had
	// their effect. FailedReads counts the reads without an answer.
	Acknowledged, Unknown, UnknownDone, FailedReads int
	// Lost are acknowledged writes that a member does not have, Strange are values that no client wrote.
	Lost, Strange []string
	// Keys are the registers, each with the verdict on its history.
	Keys    []Key
	Figures []Figure
	// Rate is the number of acknowledged writes in each step of the run, from the first operation on.
	Begin time.Time
	Rate  []int
}

// Step is the length of the intervals of the rate.
const Step = 500 * time.Millisecond

// read reads the records of the clients and the final answers of the members.
func read(histories []string, final string) (all []steady.Operation, finals []steady.Final, err error) {
	for _, path := range histories {
		some, err := steady.Load(path)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, some...)
	}
	text, err := os.ReadFile(final)
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(text, &finals); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", final, err)
	}
	if len(all) == 0 || len(finals) < 2 {
		return nil, nil, fmt.Errorf("%d operations and %d copies of their values: there is nothing to judge", len(all), len(finals))
	}
	return all, finals, nil
}

// judge reports whether a write was lost and whether all clients saw one order, and measures the phases.
func judge(all []steady.Operation, finals []steady.Final, phases []Phase) Answer {
	slices.SortFunc(all, func(a, b steady.Operation) int { return a.Start.Compare(b.Start) })
	answer := Answer{Operations: len(all), Begin: all[0].Start}
	for _, op := range all {
		switch {
		case op.Kind == steady.Read && op.Outcome != steady.OK:
			answer.FailedReads++
		case acknowledged(op):
			answer.Acknowledged++
		case op.Kind == steady.Write:
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
		answer.Figures = append(answer.Figures, measure(all, phase))
	}
	return answer
}

// acknowledged reports whether an operation is an acknowledged write.
func acknowledged(op steady.Operation) bool {
	return op.Kind == steady.Write && op.Outcome == steady.OK
}

// isDone reports whether a write had its effect by the end: some member has its entry.
func isDone(write steady.Operation, finals []steady.Final) bool {
	return slices.ContainsFunc(finals, func(f steady.Final) bool { return f.Keys[write.Entry] == write.Value })
}

// lost returns the acknowledged writes that some member does not have.
func lost(all []steady.Operation, finals []steady.Final) (missing []string) {
	for _, final := range finals {
		for _, op := range all {
			if acknowledged(op) && final.Keys[op.Entry] != op.Value {
				missing = append(missing, op.Value+" on "+final.Endpoint)
			}
		}
	}
	return missing
}

// strange returns the final values that no client wrote to that key.
func strange(all []steady.Operation, finals []steady.Final) (found []string) {
	type cell struct{ key, value string }
	written := map[cell]bool{}
	for _, op := range all {
		if op.Kind == steady.Write {
			written[cell{op.Key, op.Value}], written[cell{op.Entry, op.Value}] = true, true
		}
	}
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
func rate(all []steady.Operation) (counts []int) {
	for _, op := range all {
		if !acknowledged(op) {
			continue
		}
		at := int(op.End.Sub(all[0].Start) / Step)
		for len(counts) <= at {
			counts = append(counts, 0)
		}
		counts[at]++
	}
	return counts
}

// Key is one register with the verdict on its history: Ok, Illegal or Unknown.
type Key struct {
	Key        string
	Operations int
	Verdict    string
}

// call is the request of an operation to a register.
type call struct {
	kind  steady.Kind
	value string // of a write
}

// register is the model of a cell that holds the last written value.
var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		if c := input.(call); c.kind == steady.Write {
			return true, c.value
		}
		return output == state, state
	},
}

// linearizable judges each register separately: linearizability is local.
func linearizable(all []steady.Operation, finals []steady.Final) (verdicts []Key) {
	const patience = 2 * time.Minute
	var keys []string
	for _, op := range all {
		if strings.HasPrefix(op.Key, steady.Registers) {
			keys = append(keys, op.Key)
		}
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		operations := operationsOf(key, all, finals)
		for _, final := range finals {
			operations = append(operations, porcupine.Operation{
				Input: call{kind: steady.Read}, Output: final.Keys[key], Call: final.Start.UnixNano(), Return: final.End.UnixNano(),
			})
		}
		verdict := porcupine.CheckOperationsTimeout(register, operations, patience)
		verdicts = append(verdicts, Key{Key: key, Operations: len(operations), Verdict: string(verdict)})
	}
	return verdicts
}

// operationsOf returns the operations whose effect or answer matters. A write of unknown outcome may have its effect
// at any later time. If its entry, written in the same transaction, is missing at the end, it had no effect before any
// read.
func operationsOf(key string, all []steady.Operation, finals []steady.Final) []porcupine.Operation {
	clients := map[string]int{}
	var operations []porcupine.Operation
	for _, op := range all {
		unknown := op.Kind == steady.Write && op.Outcome != steady.OK
		if op.Key != key || op.Kind == steady.Read && op.Outcome != steady.OK || unknown && !isDone(op, finals) {
			continue
		}
		if _, known := clients[op.Client]; !known {
			clients[op.Client] = len(clients)
		}
		next := porcupine.Operation{
			ClientId: clients[op.Client], Input: call{op.Kind, op.Value}, Output: op.Value, Call: op.Start.UnixNano(), Return: op.End.UnixNano(),
		}
		if unknown {
			next.Return = math.MaxInt64
		}
		operations = append(operations, next)
	}
	return operations
}

// Phase is a span of the run.
type Phase struct {
	Name        string
	From, Until time.Time
}

// Figure holds the measurements of one phase from the view of the clients.
type Figure struct {
	Name    string
	Seconds float64
	// WritesPerSecond and ReadsPerSecond count acknowledged operations.
	WritesPerSecond, ReadsPerSecond float64
	// Latency of acknowledged writes, in milliseconds.
	P50, P99, Max float64
	// Gap is the longest time, in seconds, in which no write of any client was acknowledged, ClientGap the longest time
	// between two acknowledged writes of one worker of a client.
	Gap         float64
	GapAt       time.Time
	ClientGap   float64
	ClientGapAt time.Time
	ClientGapOf string
	// Unknown counts the writes without an answer before their timeout.
	Unknown int
}

// measure measures the operations that ended within a phase.
func measure(all []steady.Operation, phase Phase) Figure {
	f := Figure{Name: phase.Name, Seconds: phase.Until.Sub(phase.From).Seconds()}
	var reads int
	var latencies []float64
	var written []time.Time
	byClient := map[string][]time.Time{}
	for _, op := range all {
		inside := !op.End.Before(phase.From) && op.End.Before(phase.Until)
		switch {
		case !inside:
		case acknowledged(op):
			latencies = append(latencies, op.End.Sub(op.Start).Seconds()*1000)
			written = append(written, op.End)
			byClient[op.Client] = append(byClient[op.Client], op.End)
		case op.Kind == steady.Write:
			f.Unknown++
		case op.Outcome == steady.OK:
			reads++
		}
		if _, seen := byClient[op.Client]; !seen {
			byClient[op.Client] = nil // a worker without any answer has the longest gap
		}
	}
	f.WritesPerSecond, f.ReadsPerSecond = float64(len(written))/f.Seconds, float64(reads)/f.Seconds
	f.P50, f.P99, f.Max = percentile(latencies, 0.5), percentile(latencies, 0.99), percentile(latencies, 1)
	f.Gap, f.GapAt = longest(written, phase)
	for client, times := range byClient {
		if gap, at := longest(times, phase); gap > f.ClientGap {
			f.ClientGap, f.ClientGapAt, f.ClientGapOf = gap, at, client
		}
	}
	return f
}

// longest returns the longest time between two of these times, bounded by the phase's ends, and its start.
func longest(times []time.Time, phase Phase) (seconds float64, from time.Time) {
	slices.SortFunc(times, time.Time.Compare)
	last := phase.From
	for _, at := range append(times, phase.Until) {
		if gap := at.Sub(last).Seconds(); gap > seconds {
			seconds, from = gap, last
		}
		last = at
	}
	return seconds, from
}

// percentile returns the nearest rank, or 0 if there are no values.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(len(values)-1, int(p*float64(len(values))))]
}
