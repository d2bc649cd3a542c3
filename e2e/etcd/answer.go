package main

import "time"

// question and answer are the types of programs/judge, which is in another module.
type question struct {
	Histories []string `json:"histories"`
	Final     string   `json:"final"`
	Phases    []phase  `json:"phases"`
}

type phase struct {
	Name  string    `json:"name"`
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

type answer struct {
	Operations   int       `json:"operations"`
	Acknowledged int       `json:"acknowledged"`
	Unknown      int       `json:"unknown"`
	UnknownDone  int       `json:"unknownDone"`
	FailedReads  int       `json:"failedReads"`
	Lost         []string  `json:"lost"`
	Strange      []string  `json:"strange"`
	Keys         []key     `json:"keys"`
	Phases       []figure  `json:"phases"`
	Begin        time.Time `json:"begin"`
	Step         float64   `json:"step"`
	Rate         []int     `json:"rate"`
}

type key struct {
	Key        string `json:"key"`
	Operations int    `json:"operations"`
	Verdict    string `json:"verdict"`
}

type figure struct {
	Name            string    `json:"name"`
	Seconds         float64   `json:"seconds"`
	WritesPerSecond float64   `json:"writesPerSecond"`
	ReadsPerSecond  float64   `json:"readsPerSecond"`
	P50             float64   `json:"p50"`
	P99             float64   `json:"p99"`
	Max             float64   `json:"max"`
	Gap             float64   `json:"gap"`
	GapAt           time.Time `json:"gapAt"`
	ClientGap       float64   `json:"clientGap"`
	ClientGapAt     time.Time `json:"clientGapAt"`
	ClientGapOf     string    `json:"clientGapOf"`
	Unknown         int       `json:"unknown"`
}
