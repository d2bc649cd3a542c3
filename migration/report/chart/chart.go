// Package chart draws where each ordinal of a StatefulSet is over time, how many of them are available,
// and when a move stood still: a value in, an image in SVG out.
package chart

import (
	"time"
)

// Place is where an ordinal is.
type Place string

// The places.
const (
	AtSource      Place = "source"
	OnItsWay      Place = "away"
	AtDestination Place = "destination"
)

// Chart is what is drawn.
type Chart struct {
	// Title and Description say in words what there is to be seen, for those who cannot see it.
	Title, Description string
	// Source and Destination name the sides, and Away what an ordinal is between them; empty: on its way.
	Source, Destination, Away string
	// Begin and End bound the time that is drawn. Relative has the axis count from Begin.
	Begin, End time.Time
	Relative   bool
	// Lanes are the ordinals, from the top.
	Lanes []Lane
	// Replicas are those of the whole application, and Budget is how many of them may be unavailable.
	Replicas, Budget int32
	// Available is how many replicas are available from a time on, in order.
	Available []Level
	// Stops are when nothing went on.
	Stops []Stop
}

// Lane is one ordinal.
type Lane struct {
	Label string
	Spans []Span
}

// Span is where an ordinal is for a time.
type Span struct {
	From, To time.Time
	Place    Place
	// Text is what is said of it, where one points at it.
	Text string
}

// Level is a number from a time on.
type Level struct {
	From  time.Time
	Value int32
}

// Stop is a time in which nothing went on.
type Stop struct {
	From, To time.Time
	Label    string
}
