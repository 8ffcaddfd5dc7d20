package schedule

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// MaxLength is the largest length of a cron line, in bytes.
const MaxLength = 256

// ErrSpec is wrapped by all errors of Parse.
var ErrSpec = errors.New("schedule")

// star marks a field that begins with *, in robfig's days of month and of week.
const star = 1 << 63

// Spec is a parsed cron line in a time zone.
type Spec struct {
	line     string             // as written, without CRON_TZ
	zone     *time.Location     // where its wall clock is
	wall     *cron.SpecSchedule // its times, as if the wall clock were UTC
	realTime bool               // its minute or hour field begins with *
}

// Parse reads a cron line. The zone is a name of the tz database, such as Europe/Berlin; the
// line may name it in front, as CRON_TZ=Europe/Berlin. Without either it is UTC.
//
// Parse refuses lines that never come, such as 30 February.
func Parse(line, zone string) (Spec, error) {
	s, err := parse(line, zone)
	if err != nil {
		return Spec{}, fmt.Errorf("%w %.*q: %w", ErrSpec, MaxLength, line, err)
	}
	return s, nil
}

func parse(line, zone string) (Spec, error) {
	if len(line) > MaxLength {
		return Spec{}, fmt.Errorf("%d bytes, the limit is %d", len(line), MaxLength)
	}
	line = strings.Join(strings.Fields(line), " ")
	if prefix, rest, _ := strings.Cut(line, " "); strings.HasPrefix(prefix, "CRON_TZ=") {
		named := strings.TrimPrefix(prefix, "CRON_TZ=")
		if zone != "" && zone != named {
			return Spec{}, fmt.Errorf("it names the zone %q, and the schedule's zone is %q: give one of them", named, zone)
		}
		line, zone = rest, named
		if zone == "" {
			return Spec{}, errors.New("CRON_TZ= names no zone: such as CRON_TZ=Europe/Berlin")
		}
	}
	location, err := loadZone(zone)
	if err != nil {
		return Spec{}, err
	}
	return parseIn(line, location)
}

// loadZone loads a zone of the tz database; UTC if it has no name.
func loadZone(name string) (*time.Location, error) {
	switch {
	case name == "":
		return time.UTC, nil
	case name == "Local":
		return nil, errors.New("the zone Local differs between machines: name one, such as Europe/Berlin")
	case len(name) > 64:
		return nil, fmt.Errorf("the zone's name has %d bytes, the limit is 64", len(name))
	case strings.HasPrefix(name, "right/"):
		return nil, fmt.Errorf("the zone %q counts leap seconds, which the clock does not: use %q", name, strings.TrimPrefix(name, "right/"))
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("the time zone %q is unknown: names are those of the tz database, such as Europe/Berlin", name)
	}
	return location, nil
}

// parseIn parses a line without CRON_TZ, with single spaces.
func parseIn(line string, zone *time.Location) (Spec, error) {
	s := Spec{line: line, zone: zone}
	if strings.HasPrefix(line, "@") {
		long, known := nicknames[line]
		switch {
		case strings.HasPrefix(line, "@every"):
			return Spec{}, errors.New("@every counts from a start that is not written down; write times, such as */10 * * * *")
		case line == "@reboot":
			return Spec{}, errors.New("@reboot is no time; a schedule goes on by itself after a restart")
		case !known:
			return Spec{}, errors.New("must be @hourly, @daily, @midnight, @weekly, @monthly, @yearly or five fields")
		}
		line = long
	}
	texts := strings.Fields(line)
	if len(texts) != len(fields) {
		return Spec{}, fmt.Errorf("must have five fields, not %d: minute, hour, day of month, month of year, day of week", len(texts))
	}
	var bits [len(fields)]uint64
	for i, f := range fields {
		var err error
		if bits[i], err = f.parse(i, texts[i]); err != nil {
			return Spec{}, fmt.Errorf("%s field %q: %w", f.name, texts[i], err)
		}
	}
	s.wall = &cron.SpecSchedule{Second: 1, Minute: bits[0], Hour: bits[1], Dom: bits[2], Month: bits[3], Dow: bits[4], Location: time.UTC}
	s.realTime = texts[0][0] == '*' || texts[1][0] == '*'
	if !comes(s.wall) {
		return Spec{}, errors.New("never comes: none of its months has one of its days")
	}
	return s, nil
}

var nicknames = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// A field of a line, with its smallest and largest value.
type field struct {
	name     string
	min, max int
	names    []string // of the values from min on
	bits     func(*cron.SpecSchedule) uint64
}

var fields = [5]field{
	{"minute", 0, 59, nil, func(s *cron.SpecSchedule) uint64 { return s.Minute }},
	{"hour", 0, 23, nil, func(s *cron.SpecSchedule) uint64 { return s.Hour }},
	{"day of month", 1, 31, nil, func(s *cron.SpecSchedule) uint64 { return s.Dom }},
	{"month", 1, 12, strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec"), func(s *cron.SpecSchedule) uint64 { return s.Month }},
	{"day of week", 0, 7, strings.Fields("sun mon tue wed thu fri sat"), func(s *cron.SpecSchedule) uint64 { return s.Dow }},
}

// item is one element of a field's list: *, a value or a range, perhaps with a step.
var item = regexp.MustCompile(`^(?:\*|([0-9]{1,4}|[A-Za-z]+)(?:-([0-9]{1,4}|[A-Za-z]+))?)(?:/([0-9]{1,4}))?$`)

// parse reads field i. robfig turns it into bits; parse refuses what Debian's cron does not
// have, and adapts the two points where robfig differs: 7 is Sunday too, and whether a field
// counts as restricted depends on its first character alone.
func (f field) parse(i int, text string) (uint64, error) {
	var items []string
	for _, one := range strings.Split(text, ",") {
		plain, err := f.plain(one)
		if err != nil {
			return 0, err
		}
		items = append(items, plain)
	}
	line := []string{"*", "*", "*", "*", "*"}
	line[i] = strings.Join(items, ",")
	parsed, err := cron.ParseStandard(strings.Join(line, " "))
	if err != nil {
		return 0, err
	}
	schedule, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return 0, fmt.Errorf("robfig/cron gives a %T", parsed)
	}
	bits := f.bits(schedule) &^ star
	if text[0] == '*' {
		bits |= star
	}
	return bits, nil
}

// plain checks an item and writes it in numbers, with Sunday as 0.
func (f field) plain(one string) (string, error) {
	m := item.FindStringSubmatch(one)
	if m == nil {
		return "", fmt.Errorf("%q is not *, a value, or a range such as %d-%d, with or without a step such as /2", one, f.min, f.max)
	}
	from, to, step := m[1], m[2], 1
	if m[3] != "" {
		step, _ = strconv.Atoi(m[3]) // at most four digits
		switch {
		case from != "" && to == "":
			return "", fmt.Errorf("the step of %q needs a range: %s-%d/%s", one, from, f.max, m[3])
		case step < 1 || step > f.max:
			return "", fmt.Errorf("the step of %q is not in 1…%d", one, f.max)
		}
	}
	if from == "" {
		return one, nil
	}
	first, err := f.value(from)
	if err != nil {
		return "", err
	}
	last := first
	if to != "" {
		if last, err = f.value(to); err != nil {
			return "", err
		}
	}
	if last < first {
		return "", fmt.Errorf("the range %q ends before it begins", one)
	}
	if f.max != 7 || last < 7 {
		return fmt.Sprintf("%d-%d/%d", first, last, step), nil
	}
	if first == 7 {
		return "0", nil
	}
	plain := fmt.Sprintf("%d-6/%d", first, step)
	if (7-first)%step == 0 {
		plain += ",0"
	}
	return plain, nil
}

// value reads a number or a name.
func (f field) value(text string) (int, error) {
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n >= f.min && n <= f.max:
		return n, nil
	case err == nil:
		return 0, fmt.Errorf("%d is not in %d…%d", n, f.min, f.max)
	}
	if k := slices.Index(f.names, strings.ToLower(text)); k >= 0 {
		return f.min + k, nil
	}
	if f.names == nil {
		return 0, fmt.Errorf("%q is no number", text)
	}
	return 0, fmt.Errorf("%q is neither a number nor one of %s", text, strings.Join(f.names, ", "))
}

// comes tells whether a month of the line has a day of the line.
func comes(s *cron.SpecSchedule) bool {
	if s.Dom&star == 0 && s.Dow&star == 0 {
		return true // a day of week is enough
	}
	lengths := [...]int{1: 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	for month := 1; month <= 12; month++ {
		if s.Month>>month&1 == 1 && s.Dom&(1<<(lengths[month]+1)-2) != 0 {
			return true
		}
	}
	return false
}

// Line returns the cron line, without its zone.
func (s Spec) Line() string { return s.line }

// Zone returns where the wall clock of the line is.
func (s Spec) Zone() *time.Location { return s.zone }

// String writes the line so that Parse reads it without a zone.
func (s Spec) String() string {
	if s.zone == time.UTC {
		return s.line
	}
	return "CRON_TZ=" + s.zone.String() + " " + s.line
}
