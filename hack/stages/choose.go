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
	// Everything runs every part, however long that takes.
	Everything bool
	// Part is this commit's, of Parts.
	Part, Parts int
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
	return len(s.Targets) == 0 || slices.Contains(s.Targets, each.Target)
}

// turn is why a stage is not this commit's, or empty.
func (s situation) turn(each stage) string {
	if s.Everything || len(s.Targets) > 0 || each.Part == 0 || each.Part == s.Part {
		return ""
	}
	return fmt.Sprintf("part %d of %d, and this commit's is %d: make %s", each.Part, s.Parts, s.Part, each.Target)
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

// partOf is the part that a commit's hash chooses, from 1.
func partOf(commit string, parts int) (int, error) {
	const digits = 15 // of 4 bits: they fit into 63
	if len(commit) < digits || parts < 1 {
		return 0, fmt.Errorf("commit %q chooses none of %d parts", commit, parts)
	}
	number, err := strconv.ParseInt(commit[:digits], 16, 64)
	if err != nil {
		return 0, fmt.Errorf("commit %q is no hash: %w", commit, err)
	}
	return int(number%int64(parts)) + 1, nil
}
