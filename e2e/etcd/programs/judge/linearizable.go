package main

import (
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sliceshift/sliceshift/e2e/etcd/programs/history"
)

// Key is one register with the verdict on its history: Ok, Illegal or Unknown.
type Key struct {
	Key        string `json:"key"`
	Operations int    `json:"operations"`
	Verdict    string `json:"verdict"`
}

// call is the request of an operation to a register.
type call struct {
	kind  history.Kind
	value string // of a write
}

// register is the model of a cell that holds the last written value.
var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		if c := input.(call); c.kind == history.Write {
			return true, c.value
		}
		return output == state, state
	},
}

// linearizable judges each register separately: linearizability is local.
func linearizable(all []history.Operation, finals []history.Final) []Key {
	const patience = 2 * time.Minute
	var verdicts []Key
	for _, key := range registers(all) {
		operations := append(operationsOf(key, all, finals), finalReads(key, finals)...)
		verdict := porcupine.CheckOperationsTimeout(register, operations, patience)
		verdicts = append(verdicts, Key{Key: key, Operations: len(operations), Verdict: string(verdict)})
	}
	return verdicts
}

// operationsOf returns the operations whose effect or answer matters. A write of unknown outcome may have its effect
// at any later time. If its entry, written in the same transaction, is missing at the end, it had no effect before any
// read.
func operationsOf(key string, all []history.Operation, finals []history.Final) []porcupine.Operation {
	clients := map[string]int{}
	var operations []porcupine.Operation
	for _, op := range all {
		unknown := op.Kind == history.Write && op.Outcome != history.OK
		if op.Key != key || op.Kind == history.Read && op.Outcome != history.OK || unknown && !isDone(op, finals) {
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

// finalReads returns the final answers of the members as reads.
func finalReads(key string, finals []history.Final) []porcupine.Operation {
	var operations []porcupine.Operation
	for _, final := range finals {
		operations = append(operations, porcupine.Operation{
			Input: call{kind: history.Read}, Output: final.Keys[key], Call: final.Start.UnixNano(), Return: final.End.UnixNano(),
		})
	}
	return operations
}
