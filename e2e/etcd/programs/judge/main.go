// Command judge reads the records of the clients. It reports whether a write was lost and whether all clients saw one
// order, and measures rates and gaps. It reads a question from stdin and answers on stdout, both in JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/sliceshift/sliceshift/e2e/etcd/programs/history"
)

// Question is the input.
type Question struct {
	// Histories are the files of the clients, Final the file of the members' final answers.
	Histories []string `json:"histories"`
	Final     string   `json:"final"`
	// Phases are measured separately.
	Phases []Phase `json:"phases"`
}

// Phase is a span of the run.
type Phase struct {
	Name  string    `json:"name"`
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// Answer is the verdict with its figures.
type Answer struct {
	Operations int `json:"operations"`
	// Acknowledged counts the acknowledged writes, Unknown those of unknown outcome; UnknownDone of the latter had
	// their effect. FailedReads counts the reads without an answer.
	Acknowledged int `json:"acknowledged"`
	Unknown      int `json:"unknown"`
	UnknownDone  int `json:"unknownDone"`
	FailedReads  int `json:"failedReads"`
	// Lost are acknowledged writes that a member does not have, Strange are values that no client wrote.
	Lost    []string `json:"lost"`
	Strange []string `json:"strange"`
	// Keys are the registers, each with the verdict on its history.
	Keys   []Key    `json:"keys"`
	Phases []Figure `json:"phases"`
	// Rate is the number of acknowledged writes in each step of the run, from the first operation on.
	Begin time.Time `json:"begin"`
	Step  float64   `json:"step"`
	Rate  []int     `json:"rate"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}

func run() error {
	var question Question
	if err := json.NewDecoder(os.Stdin).Decode(&question); err != nil {
		return fmt.Errorf("read the question: %w", err)
	}
	var all []history.Operation
	for _, path := range question.Histories {
		some, err := history.Load(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, some...)
	}
	text, err := os.ReadFile(question.Final)
	if err != nil {
		return err
	}
	var finals []history.Final
	if err := json.Unmarshal(text, &finals); err != nil {
		return fmt.Errorf("%s: %w", question.Final, err)
	}
	if len(all) == 0 || len(finals) == 0 {
		return fmt.Errorf("%d operations and the answers of %d members: there is nothing to judge", len(all), len(finals))
	}
	return json.NewEncoder(os.Stdout).Encode(judge(all, finals, question.Phases))
}
