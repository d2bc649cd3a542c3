package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// situation is what decides which stages are run.
type situation struct {
	// Targets are the only ones to run; empty: the plan decides.
	Targets []string
	// Rest leaves out what make test runs.
	Rest bool
	// Everything runs every part, however long that takes.
	Everything bool
	// Turns are the targets whose turn it is, of those that take turns.
	Turns []string
	// Since is the commit that the change began at, or empty.
	Since string
	// Docker is why it cannot be had, or empty.
	Docker string
	// Clusters is why the shared clusters cannot be had, or empty.
	Clusters string
	// Stopped is why nothing more is run, or empty.
	Stopped string
	// Elapsed of Limit has gone; without a limit nothing is too long.
	Elapsed, Limit time.Duration
}

// wanted is whether a stage belongs to this run at all.
func (s situation) wanted(each stage) bool {
	if s.Rest && each.Test {
		return false
	}
	return len(s.Targets) == 0 || slices.Contains(s.Targets, each.Target)
}

// turn is why a stage is not this commit's, or empty.
func (s situation) turn(each stage) string {
	if s.Everything || len(s.Targets) > 0 || each.Minutes == 0 || slices.Contains(s.Turns, each.Target) {
		return ""
	}
	return "it is the turn of others: make " + each.Target
}

// leaveOut is why a stage is not run now, or empty.
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

// turnsOf are the targets of the stages that a commit runs, of those that take turns: as many as there is time for, from the one on that
// its hash chooses, which is always among them.
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

// numberOf is the number, from 0 and below most, that a commit's hash chooses.
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
