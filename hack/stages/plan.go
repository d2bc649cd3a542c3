package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"sigs.k8s.io/yaml"
)

// plan lists the stages, in the order in which they run.
type plan struct {
	Stages []stage `json:"stages"`
	// ByHand lists the targets of the Makefile that no run includes.
	ByHand []string `json:"byHand"`
}

// stage is one target of the Makefile.
type stage struct {
	Name   string `json:"name"`
	Target string `json:"target"`
	// Test is true for the stages of make test.
	Test bool `json:"test"`
	// Since is true if the target gets the base commit of the change.
	Since bool `json:"since"`
	// Docker is true if it needs Docker.
	Docker bool `json:"docker"`
	// Minutes is the duration of a stage that takes turns with others; 0 if every commit runs it.
	Minutes int `json:"minutes"`
	// Clusters is how many kind clusters it needs.
	Clusters int `json:"clusters"`
	// Breaks is true if it stops machines of these clusters.
	Breaks bool `json:"breaks"`
}

func load(path string) (plan, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return plan{}, err
	}
	var p plan
	if err := yaml.UnmarshalStrict(content, &p); err != nil {
		return plan{}, fmt.Errorf("read %s: %w", path, err)
	}
	if err := p.validate(); err != nil {
		return plan{}, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func (p plan) validate() error {
	var errs []error
	if len(p.Stages) == 0 {
		errs = append(errs, errors.New("it has no stages"))
	}
	seen := map[string]bool{}
	for _, s := range p.Stages {
		if s.Name == "" || s.Target == "" {
			errs = append(errs, fmt.Errorf("stage %q with target %q: both must be given", s.Name, s.Target))
		}
		if seen[s.Target] {
			errs = append(errs, fmt.Errorf("target %s is named twice", s.Target))
		}
		seen[s.Target] = true
		if s.Test && s.Minutes > 0 {
			errs = append(errs, fmt.Errorf("stage %s: make test runs whole, so none of its stages takes turns", s.Name))
		}
		if s.Docker && s.Minutes <= 0 {
			errs = append(errs, fmt.Errorf("stage %s: what needs Docker takes turns, so it must have minutes", s.Name))
		}
		if s.Clusters > 0 && !s.Docker {
			errs = append(errs, fmt.Errorf("stage %s: clusters are for stages with docker", s.Name))
		}
	}
	return errors.Join(append(errs, p.validateClusters())...)
}

// validateClusters checks that the stages that share clusters are consecutive, and that a stage that breaks them is the
// last.
func (p plan) validateClusters() error {
	var sharing []int
	for i, s := range p.Stages {
		if s.Clusters > 0 {
			sharing = append(sharing, i)
		}
	}
	for n, i := range sharing {
		if i != sharing[0]+n {
			return fmt.Errorf("stage %s is apart from the others that need clusters", p.Stages[i].Name)
		}
		if p.Stages[i].Breaks && n < len(sharing)-1 {
			return fmt.Errorf("stage %s stops machines that %s needs after it", p.Stages[i].Name, p.Stages[i+1].Name)
		}
	}
	return nil
}

// ofTest returns the targets of make test.
func (p plan) ofTest() []string {
	var targets []string
	for _, s := range p.Stages {
		if s.Test {
			targets = append(targets, s.Target)
		}
	}
	return targets
}

// takingTurns returns the stages that take turns. Stages that need Docker are included if it is available.
func (p plan) takingTurns(docker bool) []stage {
	return slices.DeleteFunc(slices.Clone(p.Stages), func(s stage) bool { return s.Minutes == 0 || s.Docker && !docker })
}

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
