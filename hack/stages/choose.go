package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// situation holds the facts that decide which stages run.
type situation struct {
	// Targets are the only targets to run; if empty, the plan decides.
	Targets []string
	// Rest leaves out what make test runs.
	Rest bool
	// Everything runs every part, however long that takes.
	Everything bool
	// Turns lists the targets whose turn it is, of those that take turns.
	Turns []string
	// Since is the base commit of the change, or empty.
	Since string
	// Docker is why Docker is not available, or empty.
	Docker string
	// Clusters is why the shared clusters are not available, or empty.
	Clusters string
	// Stopped is why no further stage runs, or empty.
	Stopped string
	// Elapsed is the used part of Limit; a Limit of 0 means no limit.
	Elapsed, Limit time.Duration
}

// wanted reports whether a stage belongs to this run.
func (s situation) wanted(each stage) bool {
	if s.Rest && each.Test {
		return false
	}
	return len(s.Targets) == 0 || slices.Contains(s.Targets, each.Target)
}

// turn returns why it is not the stage's turn, or an empty string.
func (s situation) turn(each stage) string {
	if s.Everything || len(s.Targets) > 0 || each.Minutes == 0 || slices.Contains(s.Turns, each.Target) {
		return ""
	}
	return "it is the turn of others: make " + each.Target
}

// leaveOut returns why a stage does not run now, or an empty string.
func (s situation) leaveOut(each stage) string {
	if why := s.turn(each); why != "" {
		return why
	}
	switch {
	case s.Stopped != "":
		return s.Stopped
	case each.Since && s.Since == "":
		return "no commit before this one is here"
	case each.Docker && s.Docker != "":
		return s.Docker
	case s.Limit > 0 && each.Minutes > 0 && s.Elapsed+time.Duration(each.Minutes)*time.Minute > s.Limit:
		return fmt.Sprintf("it may take %d minutes, and %d are left: make %s", each.Minutes, int((s.Limit - s.Elapsed).Minutes()), each.Target)
	case each.Clusters > 0 && s.Clusters != "":
		return s.Clusters
	}
	return ""
}

// turnsOf returns the targets that a commit runs, of the stages that take turns. It begins at the stage that the
// commit's hash selects, which always runs, and adds as many as there is time for.
func turnsOf(taking []stage, commit string, left time.Duration) ([]string, error) {
	if len(taking) == 0 {
		return nil, nil
	}
	first, err := numberOf(commit, len(taking))
	if err != nil {
		return nil, err
	}
	var chosen []string
	for i := range taking {
		each := taking[(first+i)%len(taking)]
		takes := time.Duration(each.Minutes) * time.Minute
		if i > 0 && takes > left {
			continue
		}
		left -= takes
		chosen = append(chosen, each.Target)
	}
	return chosen, nil
}

// numberOf returns the number, from 0 and below most, that a commit's hash selects.
func numberOf(commit string, most int) (int, error) {
	const digits = 15 // of 4 bits: they fit into 63
	if len(commit) < digits {
		return 0, fmt.Errorf("commit %q is no hash", commit)
	}
	number, err := strconv.ParseInt(commit[:digits], 16, 64)
	if err != nil {
		return 0, fmt.Errorf("commit %q is no hash: %w", commit, err)
	}
	return int(number % int64(most)), nil
}
